"""How much a nightly test does, and the seed of all that it leaves to chance."""

from __future__ import annotations

import os
import secrets

SHARE = float(os.environ.get("NIGHTLY_SHARE", "1"))


def size(whole: int, least: int = 1) -> int:
    """How often to try: ``NIGHTLY_SHARE=0.1`` makes it a tenth."""
    return max(least, int(whole * SHARE))


def seed() -> int:
    """A new seed, printed, or the one of ``NIGHTLY_SEED``, which repeats a failure as far as threads allow."""
    chosen = int(os.environ.get("NIGHTLY_SEED") or secrets.randbits(32))
    print(f"NIGHTLY_SEED={chosen}")
    return chosen
