"""Marks as Phoenix keeps them: annotations of a span, posted to its REST API.

Phoenix makes annotations of nothing that comes by OTLP, and shows scores, means and filters of annotations alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from otel_chloe import semconv
from otel_chloe.mark import Outcome, Pending
from otel_chloe.run import Run

from .evaluation import evaluation_attributes, score_label, score_value

Annotation = dict[str, Any]

KEY_VARIABLE: Final = "PHOENIX_API_KEY"
"""Phoenix's own variable: the key that its API asks for, where it asks for one."""
_PATH: Final = "/v1/span_annotations"
_SAID_LIMIT: Final = 300
"""Of an answer, what the log repeats."""
_APART: Final = frozenset(
    {
        semconv.GEN_AI_EVALUATION_NAME,
        semconv.GEN_AI_EVALUATION_SCORE_VALUE,
        semconv.GEN_AI_EVALUATION_SCORE_LABEL,
    }
)
"""What has a place of its own in an annotation."""
_BUSY: Final = frozenset({408, 425, 429})
_NO_KEY: Final = frozenset({401, 403})
_NOT_FOUND: Final = 404
_TIMEOUT: Final = 10.0


class Answer(NamedTuple):
    """What came of annotations that were sent."""

    taken: bool
    again: bool = False
    """Whether they may be taken later."""
    by_one: bool = False
    """Whether one of them may have cost the others, so that they are sent one by one."""
    said: str = ""


Post = Callable[[Sequence[Annotation]], Answer]


def annotation(run: Run, outcome: Outcome, *, reasons: bool) -> Annotation | None:
    """An outcome as an annotation of the span that it stands on; None where that span is not known.

    A state that is no score (unscored, pending, failed) is the label of an annotation without a score. Phoenix keeps
    one annotation for a span, a name and an identifier: what is sent again, or as a later revision, takes its place.
    """
    if run.mark_span_id is None:
        return None
    attributes = evaluation_attributes(run, outcome, reasons=False)
    judged = not isinstance(outcome, Pending) and outcome.judged is not None
    label = score_label(outcome) if outcome.state == "scored" else outcome.state
    result = {
        "score": score_value(outcome),
        "label": label,
        "explanation": outcome.reason[: semconv.EXPLANATION_LIMIT] if reasons and outcome.reason else None,
    }
    return {
        "span_id": run.mark_span_id,
        "name": outcome.name,
        "annotator_kind": "LLM" if judged else "CODE",
        "result": {key: value for key, value in result.items() if value is not None},
        "metadata": {key: value for key, value in attributes.items() if key not in _APART},
        "identifier": outcome.id or semconv.SCOPE,
    }


def poster(url: str, environ: Mapping[str, str] = os.environ) -> Post:
    """What posts annotations to the Phoenix at this address. It never raises for what the network or Phoenix does."""
    headers = {"content-type": "application/json"}
    if key := environ.get(KEY_VARIABLE, "").strip():
        headers["authorization"] = f"Bearer {key}"
    address = url.rstrip("/") + _PATH

    def post(annotations: Sequence[Annotation]) -> Answer:
        return _posted(address, headers, json.dumps({"data": list(annotations)}).encode())

    return post


def _posted(address: str, headers: Mapping[str, str], body: bytes) -> Answer:
    from http.client import HTTPException  # the network's modules: only for who has a Phoenix
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        """Goes nowhere else: what was posted would be lost on the way, and the key told to whoever stands there."""

        def redirect_request(self, *_: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            return None

    try:
        # The scheme was looked at when the setting was: http or https.
        with build_opener(Stay).open(Request(address, body, dict(headers)), timeout=_TIMEOUT) as answer:  # noqa: S310
            answer.read()
    except HTTPError as error:
        said = ""
        with error, suppress(OSError, HTTPException):
            said = error.read(_SAID_LIMIT).decode(errors="replace")
        return _refused(error.code, said)
    except (OSError, HTTPException) as error:
        return Answer(taken=False, again=True, said=f"{type(error).__name__}: {error}")
    return Answer(taken=True)


def _refused(code: int, said: str) -> Answer:
    """What to do about an error's code. A span may not be there yet: it is exported in a batch of its own."""
    return Answer(
        taken=False,
        again=code >= 500 or code in _BUSY or code == _NOT_FOUND,
        by_one=400 <= code < 500 and code not in _BUSY | _NO_KEY,
        said=f"HTTP {code} {said}".strip(),
    )
