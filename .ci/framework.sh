#!/bin/sh
# Makes the environment of one framework for tests/frameworks, in the user's cache; prints its Python.
#
#   sh .ci/framework.sh NAME         as tests/frameworks/pins/NAME.txt says; with NEWEST=1 whatever is newest by now
set -eu
cd "$(dirname "$0")/.."
name=$1 pins=tests/frameworks/pins/$1.txt
python=${PYTHON:-python3}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/otel-chloe/frameworks
# What otel_chloe itself needs here: it is taken from the clone, and nothing is judged.
own='opentelemetry-sdk opentelemetry-exporter-otlp-proto-http pydantic pyyaml'
if [ -n "${NEWEST:-}" ]; then wanted=$(sed 's/[=<>~].*//' "$pins") key=newest-$(date +%Y-%m-%d); else
    wanted=$(cat "$pins") key=$( { cat "$pins"; "$python" --version; } | sha256sum | cut -c1-16); fi
venv=$cache/$name-$key
if [ ! -e "$venv/done" ]; then
    rm -rf "$venv"
    "$python" -m venv "$venv" >&2
    # shellcheck disable=SC2086 - one word for each package
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check $wanted $own >&2
    touch "$venv/done"
fi
echo "$venv/bin/python"
