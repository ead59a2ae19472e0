"""``python -m otel_chloe.cli`` is ``otel-chloe``, too."""

from __future__ import annotations

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
