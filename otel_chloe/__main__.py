"""``python -m otel_chloe`` is ``otel-chloe``."""

from __future__ import annotations

import sys

from otel_chloe.cli import main

if __name__ == "__main__":
    sys.exit(main())
