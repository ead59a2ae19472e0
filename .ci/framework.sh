#!/bin/sh
# Makes the environment of one framework for tests/frameworks, in the user's cache; prints its Python.
#
#   sh .ci/framework.sh NAME         as tests/frameworks/pins/NAME.txt says; with NEWEST=1 whatever is newest by now
#   sh .ci/framework.sh --pin NAME   writes that file anew, with the newest versions that are a week old (needs uv)
set -eu
cd "$(dirname "$0")/.."
pins=tests/frameworks/pins
if [ "$1" = --pin ]; then
    # universal: one file for every Python, by markers. From 3.11 on: the newest of some want it.
    exec uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --exclude-newer '1 week' \
        "$pins/$2.in" "$pins/own.in" --output-file "$pins/$2.txt" --upgrade
fi
name=$1 python=${PYTHON:-python3}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/otel-chloe/frameworks
if [ -n "${NEWEST:-}" ]; then
    key=newest-$(date +%Y-%m-%d)
    set -- -r "$pins/$name.in" -r "$pins/own.in"
else
    key=$({ cat "$pins/$name.txt"; "$python" --version; } | sha256sum | cut -c1-16)
    set -- -r "$pins/$name.txt"
fi
venv=$cache/$name-$key
if [ ! -e "$venv" ]; then
    mkdir -p "$cache"
    find "$cache" -maxdepth 1 -name "$name-*" -mtime +30 -exec rm -rf {} +  # of other pins: some 100 MB each
    # A name of its own, and then moved: two at once do not spoil each other, and half an environment is none.
    made=$(mktemp -d "$cache/making-XXXXXX")
    trap 'rm -rf "$made"' EXIT
    "$python" -m venv "$made/venv" >&2
    if uv --version >/dev/null 2>&1; then
        uv pip install --quiet --python "$made/venv/bin/python" "$@" >&2
    else
        "$made/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2
    fi
    [ -e "$venv" ] || mv "$made/venv" "$venv"
fi
echo "$venv/bin/python"
