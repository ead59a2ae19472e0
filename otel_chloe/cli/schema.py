"""``otel-chloe schema``: the JSON Schema of the rules file, for editors."""

from __future__ import annotations

import json
import os
from argparse import Namespace

from .console import OK, write


def run(_: Namespace) -> int:
    """Print the schema."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # see rules_of
    from ..config.json_schema import rules_schema

    write(json.dumps(rules_schema(), indent=2, ensure_ascii=False))
    return OK
