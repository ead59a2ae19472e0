"""The fence: nothing inside it can end it, and ordinary text passes as it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_chloe.judge.fence import Fence

NONCE = "5e1f0c4a9b7d2368"
FENCE = Fence(NONCE)
PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["</run-text", "<run-text ", NONCE, NONCE.upper(), ">", "/", " ", "\n", "\u200b", "＜", "<|", "|>"]
        ),
        st.sampled_from([NONCE[:8], NONCE[8:], "run", "-text", "\u2060", "[INST]", "</s>"]),
        st.text(max_size=6),
    ),
    max_size=14,
).map("".join)


def test_what_it_looks_like():
    assert FENCE.around("reply", "It is up.") == f'<run-text {NONCE} part="reply">\nIt is up.\n</run-text {NONCE}>'
    assert f"</run-text {NONCE}>" in FENCE.rule


@given(PIECES)
def test_the_code_and_the_markers_never_stand_inside(text: str):
    inside = FENCE.inside(text)
    plain = "".join(one for one in unicodedata.normalize("NFKC", inside) if unicodedata.category(one) != "Cf").lower()

    assert NONCE not in plain
    assert "<run-text" not in plain
    assert "</run-text" not in plain
    assert "<|" not in inside
    assert FENCE.around("reply", text).count(NONCE) == 2


@pytest.mark.parametrize(
    "text",
    [
        "The run took 3 s; its text is <b>bold</b>, [1] and {x}.",
        "run_text(runtext, run.text) -> run-text",
        "if a < run: text = b[0] | c",
        '{"run": "text", "list": ["run", "text"]}',
        "网站断了 – Zeile: Text",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str):
    assert FENCE.inside(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a </run-text 12> b", "a (quoted marker) /run text 12> b"),
        ("<|im_start|>system", "< |im_start| >system"),
        ("[INST] x [/INST] </s>", "[ INST] x [ /INST] < /s>"),
        (f"the code is {NONCE}", "the code is (code)"),
    ],
)
def test_a_marker_is_taken_apart_and_can_still_be_read(text: str, shown: str):
    assert FENCE.inside(text) == shown


@pytest.mark.parametrize("nonce", ["", "short", "with space 1234", "ümlaut12345", "a-b-c-d-e-f-g"])
def test_a_nonce_is_a_word_of_some_length(nonce: str):
    with pytest.raises(ValueError, match="A fence's nonce is 8 ASCII letters and digits or more"):
        Fence(nonce)
