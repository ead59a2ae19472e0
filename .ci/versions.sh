#!/bin/sh
# Runs the tests of what meets the SDK against its versions, each in an environment of its own in the user's cache:
# the lower bound, 1.39, 1.43 and the newest; the newest on every Python from 3.10 to 3.14 that is on this machine.
#
#   sh .ci/versions.sh [ARGUMENTS of pytest]
set -u
cd "$(dirname "$0")/.."
lowest=$(sed -n 's/.*"opentelemetry-sdk>=\(.*\)".*/\1/p' pyproject.toml)
pydantic=$(sed -n 's/.*"pydantic>=\(.*\)".*/\1/p' pyproject.toml)

find_python() { # of this version; a name on the PATH may be a shim that points at nothing
    for found in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        "$found" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null && echo "$found" && return
    done
    return 1
}

failed='' missing=''
try() { # PYTHON SDK PYDANTIC, each as pip has it: ==1.39.1, or nothing for the newest
    version=$1 sdk=$2 models=$3 && shift 3
    found=$(find_python "$version") || {
        missing="$missing $version"
        return
    }
    echo "== Python $version, opentelemetry-sdk ${sdk:-the newest}"
    packages="opentelemetry-sdk$sdk opentelemetry-exporter-otlp-proto-http$sdk"
    # shellcheck disable=SC2086 - two words
    python=$(PYTHON=$found sh .ci/packages.sh sdk $packages "pydantic$models" pyyaml typing_extensions \
        'pytest>=8.3' 'pytest-timeout>=2.3' 'hypothesis>=6.120' 'jsonschema>=4.23') &&
        { [ -n "$sdk" ] || "$python" -m pip install --quiet --disable-pip-version-check --upgrade $packages; } &&
        PYTHONPATH=. "$python" -m pytest -q -p no:cacheprovider "$@" tests/test_processor*.py tests/test_sink*.py \
            tests/test_attach.py tests/test_attach_providers.py tests/test_expecting*.py tests/test_worker*.py \
            tests/test_log_records.py tests/test_phoenix.py tests/test_resolve.py ||
        failed="$failed
  Python $version, opentelemetry-sdk ${sdk:-the newest}"
}

# What pip takes for the oldest: the first release of a minor version.
try 3.10 "==$lowest.0" "==$pydantic.0" "$@"
try 3.11 ==1.39.1 '' "$@"
try 3.12 ==1.43.0 '' "$@"
for each in 3.10 3.11 3.12 3.13 3.14; do try "$each" '' '' "$@"; done

[ -z "$missing" ] || echo "not on this machine: Python$missing"
[ -z "$failed" ] || echo "failed:$failed"
[ -z "$failed" ]
