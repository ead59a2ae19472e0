"""Files of scores as people and spreadsheets write them: what is read, and what is refused with a word of advice."""

from __future__ import annotations

import json

import pytest
from otlp_receiver import said
from waiting_scores import ONE, RUN, SPAN, TRACE

from otel_chloe import ConfigError, resolve
from otel_chloe.cli import main
from otel_chloe.cli.scores import parsed, rows
from otel_chloe.errors import InputError

HEAD = "trace_id,span_id,name,score,reason\n"
ROW = f"{TRACE},{SPAN},helpful,0.5,Kind.\n"
GIVEN = {**RUN, "score": 0.5, "reason": "Kind."}


@pytest.fixture
def read(tmp_path):
    def read(text: str | bytes):
        path = tmp_path / "scores.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return list(rows(str(path)))

    return read


WRITTEN = {
    "with a mark of its encoding": b"\xef\xbb\xbf" + (HEAD + ROW).encode(),
    "on Windows": (HEAD + ROW).replace("\n", "\r\n"),
    "where a comma is for decimals": (HEAD + ROW).replace(",", ";"),
    "with tabs": (HEAD + ROW).replace(",", "\t"),
    "with spaces": (HEAD + ROW).replace(",", " , "),
    "with empty lines and rows": f"\n{HEAD}\n,,,,\n{ROW}  ,,\n\n",
    "with a column that has no name": f"{HEAD[:-1]},\n{ROW[:-1]},\n",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_table_is_read(read, text):
    assert [(row.given, row.wrong) for row in read(text)] == [(GIVEN, None)]


def test_a_text_may_have_lines_and_quotes(read):
    (row,) = read(f'{HEAD}{TRACE},{SPAN},helpful,0.5,"It is\n""kind"", rather."\n')

    assert row.given["reason"] == 'It is\n"kind", rather.'


def test_a_line_of_json_may_have_other_ends_of_lines_in_its_texts(read):
    (row,) = read(json.dumps({**RUN, "score": 1, "reason": "a\u2028b\x85c"}, ensure_ascii=False))

    assert row.given["reason"] == "a\u2028b\x85c"


REFUSED = {
    "utf-16": ((HEAD + ROW).encode("utf-16"), "not UTF-8. Save it as UTF-8."),
    "a list": (f"[{json.dumps(GIVEN)}]", "a JSON list. Write one object a line."),
    "nothing": ("", "1: no column trace_id, span_id, name, score."),
    "another column": (HEAD.replace("reason", "reasn"), "1: unknown column 'reasn'. Did you mean reason?"),
    "one of nobody's": (HEAD.replace("reason", "by_whom"), "1: unknown column 'by_whom'. Known are trace_id, span_id,"),
    "a column twice": (HEAD.replace("reason", "score"), "1: the column score is there twice. Leave one out."),
}


@pytest.mark.parametrize(("text", "complaint"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_cannot_be_meant_is_refused_whole(read, text, complaint):
    with pytest.raises(InputError, match="scores") as raised:
        read(text)
    assert complaint in str(raised.value)


def test_a_table_that_breaks_says_that_the_rest_was_not_read(read):
    good, broken = read(f'{HEAD}{ROW}{TRACE},{SPAN},x,1,"a" b\n{ROW}')

    assert good.given == GIVEN
    assert broken.place.endswith(":3")
    assert broken.wrong.endswith("From here on nothing was read.")


SCORES = [
    ("true", True),
    (" FALSE ", False),
    ("3", 3),
    ("-0.5", -0.5),
    ("1e2", 100.0),
    ("5 stars", "5 stars"),
    ("-", "-"),
]


@pytest.mark.parametrize(("text", "score"), SCORES)
def test_a_score_is_read_as_what_it_is(text, score):
    assert (parsed(text), type(parsed(text))) == (score, type(score))


@pytest.mark.parametrize("text", ["1,5", "8/10", "50%", "1_000", "\u0663", "\u00b2"])
def test_what_looks_like_a_number_and_is_none_is_no_label(text, receiver, capsys):
    assert main([*ONE, f"--score={text}", "--otlp", receiver.url]) == 2
    assert "is neither a number, such as 0.8, nor a label, which has letters." in capsys.readouterr().err


@pytest.mark.parametrize(
    "given",
    [{"score": 10**400}, {"score": "0.8"}, {"score": 1, "revision": 1 << 63}, {"score": 1, "end_ns": 1 << 63}],
    ids=["a number too large", "a number in quotes", "a revision too large", "a time too large"],
)
def test_what_otlp_cannot_carry_is_refused(given, receiver):
    with pytest.raises(ConfigError):
        resolve(**RUN, **given, otlp=receiver.url)
    assert receiver.spans == []


def test_half_a_character_is_sent_as_a_question_mark(receiver):
    mark = resolve(**{**RUN, "name": "x\ud800"}, score="kind\ud83d", reason="\ud83d", otlp=receiver.url)

    assert (mark.name, mark.label, mark.reason) == ("x?", "kind?", "?")
    assert said(receiver.spans[0].attributes)["gen_ai.evaluation.explanation"] == "?"


# --- whether it passes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "passing", "verdict"),
    [
        (0.8, {}, None),
        (0.8, {"threshold": 0.8}, True),
        (0.7, {"threshold": 0.8}, False),
        (0.7, {"threshold": 0.8, "direction": "lower_is_better"}, True),
        (0.9, {"threshold": 0.8, "direction": "none"}, None),
        (False, {"threshold": 0.0}, False),
        ("kind", {"threshold": 0.0}, None),
    ],
)
def test_a_pass_mark_gives_a_number_its_verdict(score, passing, verdict, receiver):
    mark = resolve(**RUN, score=score, otlp=receiver.url, **passing)

    assert mark.passed is verdict
    assert said(receiver.spans[0].attributes).get("chloe.passed") is verdict


def test_a_pass_mark_holds_for_every_row(receiver, tmp_path):
    path = tmp_path / "scores.jsonl"
    path.write_text("\n".join(json.dumps({**RUN, "name": f"n{score}", "score": score}) for score in (1, 3)))

    arguments = ["--threshold", "2", "--direction", "lower_is_better", "--otlp", receiver.url]
    assert main(["resolve", "--from", str(path), *arguments]) == 0
    assert [said(span.attributes)["gen_ai.evaluation.score.label"] for span in receiver.spans] == ["pass", "fail"]


@pytest.mark.parametrize("passing", [{"threshold": float("nan")}, {"threshold": "0.8"}, {"direction": "up"}])
def test_a_wrong_pass_mark_is_an_error(passing, receiver):
    with pytest.raises(ConfigError, match=next(iter(passing))):
        resolve(**RUN, score=1, otlp=receiver.url, **passing)
