"""JSON written without the encoder is what the encoder writes."""

from __future__ import annotations

import json
from json.encoder import encode_basestring, encode_basestring_ascii

from hypothesis import given
from hypothesis import strategies as st

from otel_chloe.judge.ask import Ask
from otel_chloe.judge.link import _question
from otel_chloe.judge.prompt import SCHEMA
from otel_chloe.judge.quoted import quoted

TEXTS = st.builds(
    lambda text, times: text * times,
    st.one_of(st.text(), st.text(st.sampled_from('a"\\\n\r\t/\x00\x1f\x7fé\ud800'))),
    st.sampled_from([1, 300]),
)


@given(TEXTS)
def test_a_text(text: str):
    assert quoted(text) == encode_basestring(text)
    assert json.loads(quoted(text, encode_basestring_ascii)) == text


@given(st.lists(TEXTS, max_size=3), st.booleans())
def test_a_question_to_the_judges_process(texts: list[str], schema: bool):
    messages = tuple({"role": "user", "content": text} for text in texts)
    ask = Ask(model='a"model', messages=messages, schema=SCHEMA if schema else None, max_tokens=7, timeout_s=1.5)

    assert json.loads(_question(3, ask)[4:]) == {
        "id": 3,
        "model": 'a"model',
        "messages": list(messages),
        "schema": dict(SCHEMA) if schema else None,
        "max_tokens": 7,
        "timeout_s": 1.5,
    }
