# The two commands of the README, and those of a developer. Needs Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint docs bench clean

demo: $(VENV)/demo.stamp
	$(BIN)/python -m seminmf demo --out demo-report

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered --cov-fail-under=95

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/docs.stamp
	$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build
	@echo "Documentation: docs/_build/index.html"

bench: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) demo-report build dist .pytest_cache .mypy_cache .ruff_cache .coverage

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "seminmf needs Python 3.11 or newer; set PYTHON=/path/to/it")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/%.stamp: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[$*]'
	touch $@
