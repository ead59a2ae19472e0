"""One call of a model through litellm: what is asked of it, and its answer in our words. Runs in the child process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from .frames import Frame
from .litellm_errors import is_refused_parameter, told
from .models import litellm_model

MAX_TEXT: Final = 1_000_000
"""Characters of one answer. Nobody asked for so many: it would stop the application's process while it is read."""
REFUSED: Final = "The model refused to answer. Nothing is wrong with the judge; the run stays without this score."


class Calls:
    """Calls models, a limited number at a time.

    Args:
        litellm: The module. It is handed in, for only one file imports it.
        concurrency: Calls at a time; others wait, within the time of their own call.
    """

    def __init__(self, litellm: Any, concurrency: int) -> None:
        self._litellm = litellm
        self._slots = asyncio.Semaphore(concurrency)
        self._plain: set[str] = set()
        litellm.suppress_debug_info = True
        litellm.callbacks = []  # what a callback sends would be a trace of the judge

    async def answer(self, question: Mapping[str, Any]) -> Frame:
        """``{"reply": …}`` with the fields of a Reply, or ``{"error": …}`` with those of a JudgeError."""
        model: str = question["model"]
        timeout_s: float = question["timeout_s"]
        try:
            response = await asyncio.wait_for(self._call(litellm_model(model), question), timeout_s)
            return self._reply(response, litellm_model(model), model)
        except asyncio.TimeoutError:
            return _error(f"{model} did not answer within {timeout_s:g} s.", error="timeout", retry=True)
        except Exception as error:  # noqa: BLE001  # each becomes an answer: nothing else tells the parent
            return {"error": told(self._litellm, error, model)}

    async def _call(self, model: str, question: Mapping[str, Any]) -> Any:
        async with self._slots:
            schema: dict[str, Any] | None = question["schema"]
            if schema is None or model in self._plain:
                return await self._complete(model, question)
            try:
                return await self._complete(model, question, response_format=_format(schema))
            except Exception as error:
                if not is_refused_parameter(self._litellm, error):
                    raise
            response = await self._complete(model, question)
            self._plain.add(model)
            return response

    async def _complete(self, model: str, question: Mapping[str, Any], **more: Any) -> Any:
        return await self._litellm.acompletion(
            model=model,
            messages=[{key: _whole(value) for key, value in message.items()} for message in question["messages"]],
            max_tokens=self._room(model, question["max_tokens"]),
            timeout=question["timeout_s"],
            num_retries=0,
            max_retries=0,
            stream=False,
            **more,
        )

    def _room(self, model: str, wanted: int) -> int:
        known = self._known(model).get("max_output_tokens")
        return min(wanted, known) if isinstance(known, int) and known > 0 else wanted

    def _known(self, model: str) -> Mapping[str, Any]:
        prices: Mapping[str, Mapping[str, Any]] = self._litellm.model_cost
        return prices.get(model) or prices.get(model.partition("/")[2]) or {}

    def _reply(self, response: Any, model: str, written: str) -> Frame:
        choice = response.choices[0]
        text: object = choice.message.content or ""
        finish: str | None = choice.finish_reason
        if not text and (finish == "content_filter" or _refusal(choice.message)):
            return _error(REFUSED, error="refused")
        if not isinstance(text, str) or len(text) > MAX_TEXT:
            return _error(f"{written} answered with more than {MAX_TEXT:,} characters of text.", error="server")
        usage = getattr(response, "usage", None)
        # litellm writes 0 where a provider counts nothing: every question has tokens.
        counted: int | None = getattr(usage, "prompt_tokens", None) or None
        return {
            "reply": {
                "text": text,
                "finish": finish,
                "model": response.model,
                "input_tokens": counted,
                "output_tokens": counted and getattr(usage, "completion_tokens", None),
                "cost_usd": counted and self._cost(response, model),
            }
        }

    def _cost(self, response: Any, model: str) -> float | None:
        try:
            cost = float(self._litellm.completion_cost(completion_response=response, model=model))
        except Exception:  # noqa: BLE001  # it has no price for this model
            return None
        # For some providers a model without a price costs 0.
        return cost if cost > 0 or self._known(model) else None


def _refusal(message: Any) -> object:
    more: Mapping[str, object] = getattr(message, "provider_specific_fields", None) or {}
    return getattr(message, "refusal", None) or more.get("refusal")


def _format(schema: dict[str, Any]) -> dict[str, Any]:
    described = {"name": "answer", "schema": schema, "strict": _is_strict(schema)}
    return {"type": "json_schema", "json_schema": described}


def _is_strict(schema: Any) -> bool:
    """Whether every object in it names all its keys as required and allows no others, as strict decoding demands."""
    parts: Sequence[Any] = ()
    if isinstance(schema, list):
        parts = cast("Sequence[Any]", schema)
    elif isinstance(schema, dict):
        known = cast("dict[str, Any]", schema)
        names = set(known.get("properties", ()))
        if names != set(known.get("required", ())) or (names and known.get("additionalProperties") is not False):
            return False
        parts = list(known.values())
    return all(_is_strict(part) for part in parts)


def _whole(text: str) -> str:
    """Half a surrogate pair cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _error(message: str, *, error: str, retry: bool = False) -> Frame:
    return {"error": {"message": message, "error": error, "retry": retry}}
