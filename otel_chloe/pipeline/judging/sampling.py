"""Which runs are judged: the same ones in every process that sees the trace."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

_ALL: Final = 2**64


def sampled(trace_id: str | None, scorer: str, share: float) -> bool:
    """Whether a scorer judges the runs of this trace.

    Told by a hash of both, so that of several scorers each takes traces of its own, and every process takes the same.
    A run without a trace id is judged unless ``share`` is 0.
    """
    if share >= 1.0:
        return True
    if share <= 0.0 or trace_id is None:
        return share > 0.0
    place = int.from_bytes(blake2b(f"{trace_id}\x1f{scorer}".encode(), digest_size=8).digest(), "big")
    return place < share * _ALL
