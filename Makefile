# Everything runs in .venv, which the first target that needs it builds.
PYTHON ?= python3
PYTEST_ARGS ?= -n 2 --dist loadfile --no-loadscope-reorder

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint format typecheck docs clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

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

docs: $(VENV)/.docs ## build the manual into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html
	@echo "The manual: docs/_build/html/index.html"

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

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing dapdag and what builds its manual into $(VENV) (a minute the first time)"
	@$(INSTALL) -e '.[docs]'
	@touch $(VENV)/.core $@
