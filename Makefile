# Both of these do all their own set-up on a fresh machine with Python 3.11 or later.
#   make demo   grade the shipped solutions; prints where report and queue are
#   make test   run the tests

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	  command -v $$p >/dev/null && $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint format lock bench clean

demo: $(READY)
	@mkdir -p out
	$(BIN)/nki-grader grade data/tasks/*/solutions --db out/demo.duckdb --report out/demo.html

test: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

# Publish new versions of prompts and rubrics; a version that is locked already is never changed.
lock: $(READY)
	$(BIN)/python -m pipeline.library.lock

bench: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python evals/bench/main_job.py

clean:
	rm -rf $(VENV) out dist build

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "nki-grader needs Python 3.11 or later with venv and pip (Debian: apt-get install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@
