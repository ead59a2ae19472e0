#!/bin/sh
# Makes an environment of packages for the tests, once for each set of them, in the user's cache; prints its Python.
#
#   sh .ci/packages.sh NAME PACKAGE...      PYTHON names the Python that it is made of, python3 where it does not
set -eu
name=$1 && shift
python=${PYTHON:-python3}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/otel-chloe
key=$({ echo "$@"; "$python" -VV; } | sha256sum | cut -c1-16)
made=$cache/$name-$key
if [ ! -e "$made/whole" ]; then
    mkdir -p "$cache"
    rm -rf "$made"
    # An environment cannot be moved, so a word in it says that it is whole.
    "$python" -m venv "$made"
    "$made/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2
    touch "$made/whole"
fi
echo "$made/bin/python"
