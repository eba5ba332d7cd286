# Two commands do everything: `make demo` and `make test`. The rest is for developers.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

SPARK := $(VENV)/.spark
ICEBERG := .venv-iceberg

.PHONY: setup demo test test-exhaustive parity parity-quick parity-cluster faults check check-python check-dbt check-sql format golden schemas docs bench simulate lock dist clean

## Make .venv from the locked, hashed requirements; quick when nothing has changed.
setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q promptlab ingest reports
	@touch $@

## The main job on the examples, in the language of the locale: a warehouse, JSON and HTML in out/.
EXAMPLES := $(if $(filter zh%,$(or $(PROMPTLAB_LANG),$(LC_ALL),$(LC_MESSAGES),$(LANG))),examples_zh,examples)
demo: setup
	$(BIN)/promptlab run $(EXAMPLES) --db out/demo.duckdb --out out

## The test suite, a file at a time on each core. It builds hundreds of small warehouses: with
## jemalloc, where it is installed, DuckDB plans them a seventh faster. Some tests start
## processes, which need not compile the same modules again.
JEMALLOC = $(shell ldconfig -p 2>/dev/null | awk '/libjemalloc\.so\.2/ { path = $$NF } END { print path }')
PYTEST = LD_PRELOAD=$(JEMALLOC) PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder
test: setup
	$(PYTEST)

## The same with every case of the tables that the test suite takes a part of.
test-exhaustive: setup
	PROMPTLAB_EXHAUSTIVE=1 $(PYTEST)

## The same models on Apache Spark and on DuckDB: every table equal. Without Java it is skipped, in words.
## One build of all models on Spark takes longer than any other test may.
parity: $(SPARK)
	$(BIN)/pytest tests/parity -s -o faulthandler_timeout=7200

## The rules of what differs, and the models from rounds to the verdict over tables of DuckDB.
parity-quick: $(SPARK)
	PROMPTLAB_PARITY=quick $(BIN)/pytest tests/parity/test_rules.py tests/parity/test_parity.py -s -k 'not late_correction and not poorest' -o faulthandler_timeout=7200

## The same on a master with two workers, and with Iceberg's MERGE on Spark 3.5: some minutes, and 450 MB more.
parity-cluster: $(SPARK) $(ICEBERG)
	PROMPTLAB_PARITY=cluster $(BIN)/pytest tests/parity -s -o faulthandler_timeout=7200
	PROMPTLAB_PARITY=iceberg $(ICEBERG)/bin/python -m pytest tests/parity -s -o faulthandler_timeout=7200

$(ICEBERG): requirements.lock requirements-spark.lock
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$@/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-spark.lock
	$@/bin/python -m pip install --quiet --disable-pip-version-check --no-deps pyspark==3.5.9 py4j==0.10.9.7 snowpark-connect-deps-iceberg==1.0.2
	$@/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(SPARK): requirements-spark.lock $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-spark.lock
	@touch $@

## Every round of the fault tests: killed 100 times, the disk full, the file held.
faults: setup
	PROMPTLAB_FAULTS=1 $(BIN)/pytest tests/faults

## Everything that reads the code without running it; `make -j2 check` does both at once.
check: check-python check-dbt check-sql

check-python: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

check-dbt: setup
	PROMPTLAB_DB=:memory: $(BIN)/dbt --warn-error --quiet parse --no-partial-parse --project-dir dbt_project --profiles-dir dbt_project --target-path $(VENV)/dbt --log-path $(VENV)/dbt

check-sql: setup
	$(BIN)/sqlfluff lint --disable-progress-bar dbt_project/models

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## Accept what the renderers write now as the golden files; read the diff.
golden: setup
	$(BIN)/pytest --update-golden

## Write the JSON Schemas of the contracts.
schemas: setup
	$(BIN)/promptlab validate --schema all --out docs/schemas

## The documentation as a site, written to out/site; warnings are errors.
docs: setup
	$(BIN)/sphinx-build -q -W --keep-going -E -d $(VENV)/doctrees -c docs/site . out/site

## Ratios against named peers, written to out/bench/.
bench: setup
	$(BIN)/python -m benchmarks

## How often the verdict is right, on suites whose truth is known: the table of docs/verdict.md (half an hour; add ARGS=--quick).
simulate: setup
	$(BIN)/python -m benchmarks.verdict $(ARGS)

## Lock the newest versions that pyproject.toml allows (needs uv); Spark's is the one that CI compares with.
LOCK := uv pip compile --quiet --universal --no-strip-extras --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate pyproject.toml
lock:
	$(LOCK) --group dev -o requirements.lock
	echo 'pyspark<4.1' | $(LOCK) --extra spark --constraint requirements.lock --constraint - -o requirements-spark.lock

dist: setup
	rm -rf dist
	$(BIN)/python -m build --no-isolation

clean:
	rm -rf out dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
