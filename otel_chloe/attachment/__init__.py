"""One call attaches scoring to an application that has its telemetry already.

The room is not called by its function's name: a module of that name would stand in the function's place.
"""

from __future__ import annotations

from .attaching import Attachment, attach

__all__ = ["Attachment", "attach"]
