"""Prints the versions in uv.lock as constraints for pip, so that both install the same.

A package that the lock holds in several versions (one for each Python) is left to pip.
Reads the file's lines, because Python 3.10 has no TOML reader.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

versions: defaultdict[str, set[str]] = defaultdict(set)
lock = Path(sys.argv[1]).read_text(encoding="utf-8")
for name, version, source in re.findall(r'^name = "(.+)"\nversion = "(.+)"\nsource = \{ (\w+)', lock, re.MULTILINE):
    if source == "registry":
        versions[name].add(version)
for name, found in sorted(versions.items()):
    if len(found) == 1:
        print(f"{name}=={found.pop()}")
