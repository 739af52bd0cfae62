# Everything runs in .venv, which the first target that needs it builds.
PYTHON ?= python3
PYTEST_ARGS ?= -n 2 --dist loadfile --no-loadscope-reorder

VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
# What other versions could break: data frames, scikit-learn's interface, files, the command line.
SUBSET := -n 2 --dist loadfile -q tests/test_data_table.py tests/test_io_reading.py \
  tests/test_io_study.py tests/test_io_new_rows.py tests/test_estimators.py \
  tests/test_estimators_tables.py tests/test_estimators_sklearn.py tests/test_persistence.py \
  tests/test_cli_model.py tests/test_cli_files.py tests/test_report_page.py tests/test_structure_search.py \
  tests/test_plotting_graphs.py tests/test_package.py
# Old versions may be deprecated by others that are newer: not ours to mend.
LOWEST_ARGS ?= $(SUBSET) -W ignore::DeprecationWarning -W ignore::FutureWarning
PYTHON_ARGS ?= $(SUBSET)
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-lowest test-python lint format typecheck bench docs dist clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: $(VENV)/.core ## train on synthetic sites, predict at a new one, draw the graph
	$(BIN)/dapdag demo

test: $(VENV)/.dev ## run the tests (PYTEST_ARGS="-k graph" picks some)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.dev ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev ## repair style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

typecheck: $(VENV)/.dev ## check the types of src
	$(BIN)/mypy

bench: $(VENV)/.dev ## time fits, graphs, steps and predictions beside other tools (BENCH_ARGS="--quick")
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/speed.py $(BENCH_ARGS)

docs: $(VENV)/.docs ## build the manual into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html
	@echo "The manual: docs/_build/html/index.html"

dist: $(VENV)/.dist ## build wheel and sdist, check them, try the wheel in an empty environment
	rm -rf dist
	$(BIN)/python -m build -q --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	PYTHON=$(PYTHON) .ci/smoke dist/*.whl constraints.txt

test-lowest: $(LOWEST)/.test ## run tests on the oldest versions of the dependencies
	DAPDAG_LOWEST=1 $(LOWEST)/bin/python -m pytest $(LOWEST_ARGS)

test-python: ## run tests and the demo on another Python (PYTHON=python3.13), in .venv-3.13
	$(eval OTHER := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
	@$(MAKE) --no-print-directory VENV=$(OTHER) $(OTHER)/.test
	$(OTHER)/bin/python -m pytest $(PYTHON_ARGS)
	$(OTHER)/bin/dapdag demo

clean: ## remove caches and build products, keep .venv
	rm -rf build dist demo-output example-output docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests docs examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "dapdag needs Python 3.11 or newer, and '$(PYTHON)' is not: try make PYTHON=python3.11" >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing dapdag into $(VENV) (a minute or two the first time)"
	@$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing dapdag and its development tools into $(VENV) (a minute or two the first time)"
	@$(INSTALL) -e '.[dev,bench]'
	@touch $(VENV)/.core $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing dapdag and what its tests need into $(VENV) (a minute or two the first time)"
	@$(INSTALL) -e '.[test]'
	@touch $(VENV)/.core $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing dapdag and what builds its manual into $(VENV) (a minute the first time)"
	@$(INSTALL) -e '.[docs]'
	@touch $(VENV)/.core $@

$(VENV)/.dist: pyproject.toml constraints.txt | $(BIN)/python
	@$(INSTALL) build twine
	@touch $@

$(LOWEST)/.test: pyproject.toml constraints-lowest.txt
	@echo "Installing the oldest versions into $(LOWEST) (a minute or two)"
	@$(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python -m pip install -qq --disable-pip-version-check -c constraints-lowest.txt -e '.[test]'
	@touch $@
