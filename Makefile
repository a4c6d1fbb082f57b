# Everything a developer repeats. Each target sets up what it needs and is quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

OLDEST := build/oldest

.PHONY: demo test setup lint types unit oldest reproduce bench bench-full study docs format clean help

help:            ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

demo: $(STAMP)   ## the embedded data set from start to finish
	@$(BIN)/grople demo

test: lint types unit   ## lint, types and tests

setup: $(STAMP)  ## the virtual environment with everything in it

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "grople needs Python 3.11 or newer; try: make PYTHON=python3.12 …")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

lint: $(STAMP)   ## ruff: style and format; imports that go one way
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache >/dev/null || $(BIN)/lint-imports --no-cache

types: $(STAMP)  ## mypy, strict
	@$(BIN)/mypy

unit: $(STAMP)   ## the tests, without lint and types
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

oldest:          ## the core on the oldest libraries it supports
	@test -x $(OLDEST)/bin/pytest || ($(PYTHON) -m venv $(OLDEST) && \
	  $(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -r tools/oldest.txt)
	@PYTHONPATH=src OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n auto \
	  -p no:cacheprovider tests/moments tests/solver tests/decision tests/estimators

reproduce: $(STAMP)   ## the published numbers on the real data sets (long)
	@$(BIN)/python -m pytest -m slow -v

bench: $(STAMP)  ## speed and memory as ratios, in minutes
	@$(BIN)/python -m benchmarks --quick

bench-full: $(STAMP)  ## the same in full (hours)
	@$(BIN)/python -m benchmarks

study: $(STAMP)  ## the paper's experiments in their quick form, with a report
	@$(BIN)/grople study run all --quick --jobs 2 --store build/study
	@$(BIN)/grople study report --store build/study -o build/study/report.html

docs: $(STAMP)   ## run every example of the documentation
	@$(BIN)/python -m pytest --doctest-glob='*.md' docs README.md

format: $(STAMP) ## format the code
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

clean:           ## remove the environment and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
