# make           format-check, lint, types, layers, tests
# make demo      a small agent, three runs, and what a backend receives (OTLP=http://localhost:4318 sends it there too;
#                JUDGE=local has a small real model judge, with 200 MB more to install)
# make help      the other targets
#
# Needs Python 3.10 or newer and make. The environment is made in .venv: with uv where it is installed, else with pip.

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps

.DEFAULT_GOAL := all
# Two installs at once would spoil one environment (make -j).
.NOTPARALLEL:
.PHONY: all help env local-judge collector stack demo test test-frameworks check format-check lint types layers format coverage bench versions nightly clean

all: check test

help:
	@echo 'make            check, then test'
	@echo 'make env        everything that development needs, in $(VENV)'
	@echo 'make local-judge  the small real model too, which some tests need'
	@echo 'make collector  the Collector and Jaeger of the tests, built from their Go modules'
	@echo 'make stack      an agent, the Collector, Jaeger, Prometheus and Alertmanager on this machine, until Ctrl-C'
	@echo 'make demo       a small agent, three runs, and what a backend receives; OTLP=URL sends it there too;'
	@echo '                JUDGE=local has a small real model judge the runs (200 MB more to install)'
	@echo 'make test       all tests; ARGS="-k name" picks some'
	@echo 'make test-frameworks  real frameworks, live; FRAMEWORK="name name" picks some, NEWEST=1 takes the newest'
	@echo 'make check      format-check, lint, types and layers, each a target too'
	@echo 'make format     formats, and mends what can be mended'
	@echo 'make coverage   the tests, with what they do not reach'
	@echo 'make bench      the benchmarks; ARGS=NAME picks one'
	@echo 'make versions   the tests against the supported versions of the SDK and of Python'
	@echo 'make nightly    the tests with 5,000 examples for each property, a million hostile inputs, exits, kills, memory'
	@echo '                and pauses, the real Phoenix, products that set OpenTelemetry up, all frameworks, make versions'
	@echo 'make clean      removes the environment and all that was built'

# A stamp is newer than pyproject.toml and uv.lock once its packages are installed, so that pip is not asked again.
$(STAMPS)/%: pyproject.toml uv.lock .ci/env.sh
	@sh .ci/env.sh $(VENV) $*

env: $(STAMPS)/dev

local-judge: $(STAMPS)/local-judge

ifneq ($(filter-out local,$(JUDGE)),)
$(error JUDGE=$(JUDGE) is not known. Write JUDGE=local for a small real model, or leave it out for a script)
endif

# The Collector and Jaeger that tests send to, from their Go modules: minutes the first time, kept in ~/.cache.
collector:
	@sh .ci/go.sh tests/collector .
	@sh .ci/go.sh tests/jaeger github.com/jaegertracing/jaeger/cmd/all-in-one

stack: $(STAMPS)/test
	@$(BIN)/python examples/stack/stack.py

demo: $(STAMPS)/$(if $(JUDGE),local-judge,run)
	@OTLP='$(OTLP)' JUDGE='$(JUDGE)' $(BIN)/python examples/demo.py

test: $(STAMPS)/test
	$(BIN)/python -m pytest $(ARGS)

# Real frameworks against a scripted model, an environment for each, kept in ~/.cache. FRAMEWORK="a b" picks some;
# NEWEST=1 takes whatever is newest by now.
test-frameworks: FRAMEWORK ?= $(basename $(notdir $(wildcard tests/frameworks/pins/*.txt)))
test-frameworks: export NEWEST := $(NEWEST)
test-frameworks: $(STAMPS)/test
	@for name in $(FRAMEWORK); do PYTHON=$(BIN)/python sh .ci/framework.sh $$name >/dev/null || echo "cannot make $$name" >&2; done
	FRAMEWORK='$(FRAMEWORK)' $(BIN)/python -m pytest --timeout=600 $(ARGS) tests/frameworks/live_frameworks.py

check: format-check lint types layers

format-check: $(STAMPS)/dev
	$(BIN)/ruff format --check

lint: $(STAMPS)/dev
	$(BIN)/ruff check

types: $(STAMPS)/dev
	$(BIN)/mypy
	$(BIN)/basedpyright

layers: $(STAMPS)/dev
	$(BIN)/lint-imports

format: $(STAMPS)/dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

coverage: $(STAMPS)/test
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest $(ARGS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

# Every file in benchmarks/ is a script of its own, and says what it measures.
bench: $(STAMPS)/test
	@for file in benchmarks/$(or $(ARGS),*).py; do echo "== $$file"; $(BIN)/python "$$file" || exit 1; done

versions:
	@sh .ci/versions.sh $(ARGS)

nightly: $(STAMPS)/test $(STAMPS)/local-judge
	@status=0; \
	$(BIN)/python -m pytest --hypothesis-profile=nightly --timeout=7200 $(or $(ARGS),-rP tests $(wildcard tests/nightly_*.py tests/nightly/nightly_*.py)) || status=1; \
	$(if $(ARGS),,make --no-print-directory test-frameworks || status=1; sh .ci/versions.sh || status=1;) exit $$status

clean:
	rm -rf $(VENV) build dist .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
