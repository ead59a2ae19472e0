"""An agent that knows nothing of otel_chloe, in the tasks of Celery. Messages are files: no broker is needed."""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery
from instrumented_app import run

folder = Path(os.environ["CELERY_FOLDER"])
for name in ("messages", "control"):
    (folder / name).mkdir(parents=True, exist_ok=True)

app = Celery("celery_app", broker="filesystem://")
app.conf.broker_transport_options = {
    "data_folder_in": str(folder / "messages"),
    "data_folder_out": str(folder / "messages"),
    "control_folder": str(folder / "control"),
}
app.conf.task_ignore_result = True
app.conf.worker_hijack_root_logger = False


@app.task
def mend() -> None:
    """A run for each task."""
    run("delete_site")
    (folder / f"worker-{os.getpid()}").touch()


if __name__ == "__main__":
    for _ in range(6):
        mend.delay()
