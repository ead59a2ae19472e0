"""Frames between the judge and its child, and the ids of models."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_chloe.judge.frames import MAX_FRAME, FrameError, FrameReader, encode
from otel_chloe.judge.models import litellm_model

TEXT = st.text(st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)
FRAMES = st.lists(st.dictionaries(TEXT, JSON, max_size=4), max_size=5)


class TestFrames:
    @given(FRAMES, st.data())
    def test_come_out_as_they_went_in_however_they_are_cut(self, frames, data):
        stream = b"".join(map(encode, frames))
        cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
        reader = FrameReader()
        got = [
            frame
            for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
            for frame in reader.feed(stream[start:end])
        ]

        assert got == frames

    @given(st.binary(max_size=200))
    def test_of_any_bytes_are_frames_or_an_error(self, data):
        try:
            frames = FrameReader().feed(data)
        except FrameError:
            return

        assert all(isinstance(frame, dict) for frame in frames)

    def test_are_not_made_over_their_limit(self):
        assert len(encode({"a": "x" * 92}, limit=100)) == 104
        with pytest.raises(FrameError, match="101 bytes is over the 100"):
            encode({"a": "x" * 93}, limit=100)

    def test_over_their_limit_are_refused_before_they_are_read(self):
        with pytest.raises(FrameError, match="is announced"):
            FrameReader().feed((MAX_FRAME + 1).to_bytes(4, "big"))

    @pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b"[" * 100_000])
    def test_that_are_no_json_object_are_refused(self, body):
        with pytest.raises(FrameError):
            FrameReader().feed(len(body).to_bytes(4, "big") + body)


class TestModels:
    @pytest.mark.parametrize(
        ("written", "known"),
        [
            ("anthropic/claude-haiku-4.5", "anthropic/claude-haiku-4-5"),
            ("claude-haiku-4.5", "claude-haiku-4-5"),
            ("claude-haiku-4-5", "claude-haiku-4-5"),
            ("anthropic/claude-3.5-haiku-20241022", "anthropic/claude-3-5-haiku-20241022"),
            ("anthropic/claude-opus-4.1-20250805", "anthropic/claude-opus-4-1-20250805"),
        ],
    )
    def test_with_a_dotted_version_are_anthropics(self, written, known):
        assert litellm_model(written) == known

    @pytest.mark.parametrize(
        "written",
        [
            "openrouter/anthropic/claude-haiku-4.5",
            "vercel_ai_gateway/anthropic/claude-haiku-4.5",
            "gemini/gemini-2.5-flash",
            "gpt-4.1-mini",
            "bedrock/anthropic.claude-haiku-4-5-20251001-v1:0",
            "openai/claude-haiku-4.5",
            "",
        ],
    )
    def test_of_others_pass_as_they_are(self, written):
        assert litellm_model(written) == written
