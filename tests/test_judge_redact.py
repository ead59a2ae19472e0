"""Redaction: what is secret never comes through, what is none always does, and no text makes it slow."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from secret_shapes import CARDS, EMAILS, KEYS, NAMED, NO_SECRETS, PASSWORDS, PHONES, SECRETS, grouped, private_keys

from otel_chloe.judge.private import OVERLAP, PIECE
from otel_chloe.judge.redact import Redactor

PLACEHOLDER = re.compile(r"<(secret|email|card|phone)-\d+>")
PROSE = "The site was down since noon, so the agent restarted it; "


def redacted(text: str) -> str:
    return Redactor().text(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key sk-proj-abcdefghijklmnopqrstuvwxyz123456!", "key <secret-1>!"),
        ("Authorization: Bearer abcdefghijklmn", "Authorization: Bearer <secret-1>"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic <secret-1>"),
        ("curl -H 'Bearer abc.def-123'", "curl -H 'Bearer <secret-1>'"),
        ('{"api_key": "abc def", "x": 1}', '{"api_key": "<secret-1>", "x": 1}'),
        ('{\\"password\\": \\"hunter2\\"}', '{\\"password\\": \\"<secret-1>\\"}'),
        ('"password": "a\\"b", "x": 1', '"password": "<secret-1>", "x": 1'),
        ("DB_PASSWORD=hunter2\nUSER=bob", "DB_PASSWORD=<secret-1>\nUSER=bob"),
        ("password: hunter", "password: <secret-1>"),
        ("my password is hunter2, ok", "my password is <secret-1>, ok"),
        ("--password hunter2 --user bob", "--password <secret-1> --user bob"),
        ("/x?token=abc123&page=2", "/x?token=<secret-1>&page=2"),
        ("Password=abc;Database=shop", "Password=<secret-1>;Database=shop"),
        ("Cookie: a=b1; c=d", "Cookie: <secret-1>"),
        ("postgres://shop:p4ss@db.example.com:5432/x", "postgres://shop:<secret-1>@db.example.com:5432/x"),
        ("mail bob@example.com, Bob@Example.com, al@b.co.uk", "mail <email-1>, <email-1>, <email-2>"),
        ("müller@exämple.de", "<email-1>"),
        ("\\nbob@example.com \\n4111111111111111", "\\n<email-1> \\n<card-1>"),
        ("4111 1111 1111 1111 or 4111-1111-1111-1111", "<card-1> or <card-1>"),
        ("3782 822463 10005", "<card-1>"),
        ("+1 555 123 4567, (555) 123-4567, 555-123-4567", "<phone-1>, <phone-2>, <phone-2>"),
        ("+49 (0)30 1234567, 020 7946 0958, 06 12 34 56 78", "<phone-1>, <phone-2>, <phone-3>"),
        ('{"phone": "5551234567"}', '{"phone": "<phone-1>"}'),
        ("-----BEGIN PRIVATE KEY-----\nTUlJRXdJQkFBS0N\n", "<secret-1>\n"),
        ("-----BEGIN PRIVATE KEY----- is how one begins", "<secret-1> is how one begins"),
    ],
)
def test_what_is_secret_is_replaced_and_what_stands_around_it_stays(text: str, shown: str):
    assert redacted(text) == shown


@pytest.mark.parametrize("text", NO_SECRETS)
def test_what_is_no_secret_stays(text: str):
    assert redacted(text) == text
    assert redacted(f"{PROSE}{text} {PROSE}") == f"{PROSE}{text} {PROSE}"


@given(SECRETS, st.text(max_size=30), st.text(max_size=30))
def test_a_secret_is_found_whatever_stands_around_it(secret: str, before: str, after: str):
    text = f"{before} {secret} {after}"

    assume(secret not in before + after)
    assert secret not in redacted(text)


@given(NAMED, PASSWORDS)
def test_a_password_is_known_by_its_name(form: str, password: str):
    assert password not in redacted(PROSE + form.format(password))
    assert password not in redacted(json.dumps({"said": form.format(password)}))


@given(CARDS, st.sampled_from([" ", "-", ".", ""]))
def test_a_card_is_known_however_it_is_grouped(card: str, gap: str):
    assume(len(card) == 16)

    assert redacted(f"card {grouped(card, gap)}.") == "card <card-1>."


@given(private_keys())
def test_a_private_key_is_one_secret(key: str):
    assert redacted(f"a {key} b") == "a <secret-1> b"
    assert redacted(key.replace("\n", "\\n")) == "<secret-1>"


@given(st.lists(st.one_of(SECRETS, st.sampled_from(NO_SECRETS), st.text(max_size=20)), max_size=12))
def test_what_was_redacted_is_not_redacted_again(parts: list[str]):
    redactor = Redactor()
    once = redactor.text(" ".join(parts))

    assert redactor.text(once) == once
    assert redacted(once) == once


@given(st.lists(st.sampled_from(["a@b.example", "A@b.example", "c@d.example"]), min_size=1, max_size=8))
def test_a_placeholder_stands_for_one_thing_in_all_texts_of_a_redactor(addresses: list[str]):
    redactor = Redactor()
    shown = [redactor.text(f"to {address}") for address in addresses]

    assert len(set(shown)) == len({address.casefold() for address in addresses})
    assert shown == [redactor.text(f"to {address}") for address in addresses]
    assert shown[0] == "to <email-1>"


@given(st.one_of(KEYS, EMAILS, CARDS, PHONES, private_keys()), st.integers(-3000, 50), st.sampled_from([1, 2]))
def test_a_secret_between_two_pieces_of_a_long_text_is_found(secret: str, offset: int, piece: int):
    lead = PIECE * piece + max(offset, -len(secret) - 2)
    text = (PROSE * (lead // len(PROSE) + 1))[: lead - 1] + " " + secret + " " + PROSE * (OVERLAP // len(PROSE) + 2)

    shown = redacted(text)

    assert secret not in shown
    assert len(PLACEHOLDER.findall(shown)) == 1
    assert shown[:lead] == text[:lead]
    assert shown.endswith(text[lead + len(secret) :])


@given(st.one_of(KEYS, EMAILS, CARDS, PHONES, private_keys()), st.data())
def test_a_part_of_a_text_shows_no_part_of_a_secret(secret: str, data: st.DataObject):
    text = f"{PROSE}{secret} {PROSE}"
    at = data.draw(st.integers(len(PROSE) + 1, len(PROSE) + len(secret) - 1))

    assert Redactor().part(text, 0, at) == PROSE + redacted(secret)
    assert Redactor().part(text, at, len(text)) == f"{redacted(secret)} {PROSE}"


def test_the_name_of_a_password_may_stand_before_the_part():
    text = '"password": "correct horse"'

    assert Redactor().part(text, 12, len(text)) == '"<secret-1>"'
    assert Redactor().part(text, 20, len(text)) == '<secret-1>"'


class TestFields:
    @pytest.mark.parametrize(
        ("name", "value", "shown"),
        [
            ("password", "hunter2", "<secret-1>"),
            ("X-Api-Key", "abc", "<secret-1>"),
            ("Authorization", "Bearer abc", "Bearer <secret-1>"),
            ("phone_number", "5551234567", "<phone-1>"),
            ("password", "", ""),
            ("max_tokens", "100", "100"),
            ("site", "bob@example.com", "<email-1>"),
        ],
    )
    def test_a_fields_name_tells(self, name: str, value: str, shown: str):
        assert Redactor().field(name, value) == shown


class TestTheUsersFunction:
    def test_it_stands_beside_ours(self):
        redactor = Redactor(lambda text: text.replace("Ada", "<name>"))

        assert redactor.text("Ada wrote to bob@example.com") == "<name> wrote to <email-1>"

    def test_a_text_on_which_it_raises_is_withheld(self):
        def picky(text: str) -> str:
            if "shop" in text:
                raise RuntimeError
            return text

        redactor = Redactor(picky)

        assert [redactor.text("the shop"), redactor.text("the site")] == ["<withheld>", "the site"]
        assert redactor.withheld == 1

    def test_so_is_one_for_which_it_gives_no_text(self):
        assert Redactor(lambda _: None).text("a site") == "<withheld>"  # type: ignore[arg-type,return-value]

    def test_it_is_not_asked_to_bear_a_ctrl_c(self):
        def stop(_: str) -> str:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Redactor(stop).text("a site")
