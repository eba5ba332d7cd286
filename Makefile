# Two commands do everything: `make demo` and `make test`. The rest is for developers.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test faults check format golden schemas bench lock dist clean

## Make .venv from the locked, hashed requirements; quick when nothing has changed.
setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

## The main job on the examples: a warehouse, JSON and HTML in out/.
demo: setup
	$(BIN)/promptlab run examples --db out/demo.duckdb --out out

## The whole test suite.
test: setup
	$(BIN)/pytest

## Every round of the fault tests: killed 100 times, the disk full, the file held.
faults: setup
	PROMPTLAB_FAULTS=1 $(BIN)/pytest tests/faults

## Everything that reads the code without running it.
check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/sqlfluff lint --disable-progress-bar dbt_project/models
	PROMPTLAB_DB=:memory: $(BIN)/dbt --warn-error --quiet parse --no-partial-parse --project-dir dbt_project --profiles-dir dbt_project --target-path $(VENV)/dbt --log-path $(VENV)/dbt

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## Accept what the renderers write now as the golden files; read the diff.
golden: setup
	$(BIN)/pytest --update-golden

## Write the JSON Schemas of the contracts.
schemas: setup
	$(BIN)/promptlab schema --out docs/schemas

## Ratios against named peers, written to out/bench/.
bench: setup
	$(BIN)/python -m tests.benchmarks

## Lock the newest versions that pyproject.toml allows (needs uv).
lock:
	uv pip compile --quiet --universal --no-strip-extras --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --group dev pyproject.toml -o requirements.lock

dist: setup
	rm -rf dist
	$(BIN)/python -m build --no-isolation

clean:
	rm -rf out dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
