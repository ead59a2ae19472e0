"""How the judge's child process is started: which Python, on which path, in which environment, with which pipes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

from .ask import JudgeError

PYTHON_VARIABLE: Final = "OTEL_CHLOE_JUDGE_PYTHON"
MAIN: Final = Path(__file__).with_name("child_main.py")

_IS_PYTHON: Final = re.compile(r"(python|pypy|graalpy)[\d.]*t?d?(\.exe)?", re.IGNORECASE)
_NOT_INHERITED: Final = ("PYTHONWARNINGS", "PYTHONINSPECT", "PYTHONDEVMODE")
"""What people set for their own program, and what would break ours: warnings as errors, a prompt instead of an end."""

# With -c the interpreter puts the working directory first on its path, as the empty name. That must go before the first
# import, and the folder of the child's file must not come in its place: it has modules with common names.
_BOOT: Final = """
import sys
if sys.path[:1] == ['']:
    del sys.path[0]
import runpy
runpy.run_path(sys.argv[1], run_name='__main__')
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What a child is started with.

    Args:
        python: The interpreter; None: OTEL_CHLOE_JUDGE_PYTHON, else this process's own, where that is a Python.
        memory_mib: Resident memory that the child may come to.
        concurrency: Calls of models that it makes at a time.
        first_path: Folders before all others on its path: for tests.
    """

    python: str | None = None
    memory_mib: int = 512
    concurrency: int = 64
    first_path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """A child, and this side's ends of its pipes. None of them blocks."""

    process: subprocess.Popen[bytes]
    frames_in: int
    frames_out: int
    output: int


def start(launch: Launch) -> Started:
    """Starts a child. Raises JudgeError where that is not possible."""
    python = _python(launch)
    to_child, frames_out = os.pipe()
    frames_in, from_child = os.pipe()
    output, written = os.pipe()
    ours, theirs = (frames_in, frames_out, output), (to_child, from_child, written)
    try:
        for end in ours:
            os.set_blocking(end, False)
        process = subprocess.Popen(  # noqa: S603
            [python, "-u", "-c", _BOOT, str(MAIN), _instructions(launch, python, to_child, from_child)],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            pass_fds=(to_child, from_child),
            env=environment(os.environ),
            # Its own else: what the environment names by a relative path, a key's file or a certificate, is there.
            cwd=None if _real("") else os.sep,
            # Ctrl-C goes to every process of the terminal's group: the judgements in flight are still wanted then.
            start_new_session=True,
        )
    except BaseException as error:
        close(*ours)
        if isinstance(error, OSError):
            raise _cannot_start(python, error) from error
        raise
    finally:
        close(*theirs)
    return Started(process, *ours)


def close(*descriptors: int) -> None:
    """Closes them, whatever state they are in."""
    for each in descriptors:
        with suppress(OSError):  # it is closed already
            os.close(each)


def environment(parents: Mapping[str, str]) -> dict[str, str]:
    """The child's environment: this process's own, without what would change how the child itself runs."""
    found = {name: value for name, value in parents.items() if name not in _NOT_INHERITED}
    path = [_real(folder) for folder in _folders(found.pop("PYTHONPATH", "").split(os.pathsep))]
    if path:
        found["PYTHONPATH"] = os.pathsep.join(path)
    return found | {
        "LITELLM_MODE": "PRODUCTION",  # else it reads .env, also from folders above its own
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches its prices at import
        "OTEL_SDK_DISABLED": "true",  # the judge's own calls must not be traced, least of all scored
        "PYTHONUTF8": "1",  # for what is printed: the application's locale may be C
    }


def _python(launch: Launch) -> str:
    if os.name != "posix":
        raise _down("The judge's child process needs POSIX pipes, which this system has not: pass complete=.")
    given = launch.python or os.environ.get(PYTHON_VARIABLE)
    python = given or sys.executable
    if not given and not _IS_PYTHON.fullmatch(Path(python or "").name):
        raise _down(
            f"The judge needs a Python for its child process, and this process is run by {python or 'none'!r}: "
            f"set {PYTHON_VARIABLE} to the path of a Python that has litellm, or pass complete=."
        )
    return python


def _cannot_start(python: str, error: OSError) -> JudgeError:
    text = f"The judge's child process cannot be started with {python!r}: {error}."
    if isinstance(error, (FileNotFoundError, PermissionError, NotADirectoryError)):
        return _down(f"{text} Set {PYTHON_VARIABLE} to the path of a Python that has litellm, or pass complete=.")
    # Too many processes, no memory: that may pass.
    return JudgeError(text, error="judge_down", retry=True)


def _down(message: str) -> JudgeError:
    return JudgeError(message, error="judge_down", lasting=True)


def _instructions(launch: Launch, python: str, frames_in: int, frames_out: int) -> str:
    # Another interpreter has its own packages: ours may be built for another version.
    last = _last_path() if python == sys.executable else []
    return json.dumps(
        {
            "in": frames_in,
            "out": frames_out,
            "parent": os.getpid(),
            "memory_mib": launch.memory_mib,
            "concurrency": launch.concurrency,
            "first_path": list(launch.first_path),
            "last_path": last,
        }
    )


def _last_path() -> list[str]:
    """Folders that stand last on the child's path: where this process's packages are, if not in the usual place.

    Serverless runtimes and bundlers set the path while they run. What is in the working directory or beside the main
    program is the user's own code, but where litellm itself is installed there.
    """
    kept = _folders(sys.path)
    try:
        home = str(metadata.distribution("litellm").locate_file(""))
    except metadata.PackageNotFoundError:
        return kept
    return kept if home in kept else [*kept, home]


def _folders(path: Sequence[str]) -> list[str]:
    """The folders of a path, without the user's own code and without what instruments a process at its start."""
    main: str | None = getattr(sys.modules.get("__main__"), "__file__", None)
    own = {_real("")}
    if main:
        own.add(_real(os.path.dirname(main)))  # noqa: PTH120
    return [each for each in path if each and _real(each) not in own and not _instruments(each)]


def _real(folder: str) -> str:
    try:
        return os.path.realpath(folder or ".")
    except OSError:  # the working directory is gone, and with it what was named from there
        return ""


def _instruments(folder: str) -> bool:
    """``opentelemetry-instrument`` and its like put a folder of their package on PYTHONPATH, for its sitecustomize."""
    return all(os.path.isfile(os.path.join(folder, name)) for name in ("sitecustomize.py", "__init__.py"))  # noqa: PTH113, PTH118
