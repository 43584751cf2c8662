# The two commands of the README, and those of a developer. Needs Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test fuzz lint docs bench clean

demo: $(VENV)/demo.stamp
	$(BIN)/python -m seminmf.demo --out demo-report

test: $(VENV)/test.stamp $(VENV)/browser.stamp
	$(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered --cov-fail-under=95

# Generated cases for hours, from FIRST on; each is made again from its number.
FIRST ?= 1000
COUNT ?= 100000
fuzz: $(VENV)/test.stamp
	cd tests && ../$(BIN)/python -m fuzz $(FIRST) $(COUNT)

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
	rm -rf $(VENV) demo-report docs/_build docs/gallery docs/generated build dist .pytest_cache .mypy_cache .ruff_cache .coverage

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "seminmf needs Python 3.11 or newer; set PYTHON=/path/to/it")'
	$(PYTHON) -m venv $(VENV)

# A browser for the tests of the report. Where it can be neither found nor installed these are
# skipped, and the others run.
$(VENV)/browser.stamp: $(BIN)/python
	@if ! command -v chromedriver >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  export DEBIAN_FRONTEND=noninteractive; \
	  { apt-get -qq update && apt-get -qq install -y chromium chromium-driver; } </dev/null >/dev/null 2>&1 \
	  || echo "Chromium could not be installed: the tests in a browser will be skipped."; \
	fi
	touch $@

$(VENV)/%.stamp: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[$*]'
	touch $@
