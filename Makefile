# The two commands of the README, and those of a developer. Needs Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-lowest test-newest test-generic fuzz mutation hostile threads lint docs bench dist publish clean

demo: $(VENV)/demo.stamp
	$(BIN)/python -m seminmf.demo --out demo-report

test: $(VENV)/test.stamp $(VENV)/browser.stamp
	$(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered --cov-fail-under=95

# Each in an environment of its own, made anew: with the lowest versions that pyproject.toml allows,
# and with the newest there are. Libraries that are old call what newer ones will no longer have.
# What comes of it is a row of docs/tested.csv.
test-lowest:
	$(PYTHON) tests/environments.py lowest
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints/lowest.txt -e '.[test]'
	.venv-lowest/bin/python tests/environments.py run lowest -W ignore::DeprecationWarning

test-newest:
	$(PYTHON) -m venv --clear .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade -e '.[test]'
	.venv-newest/bin/python tests/environments.py newest
	.venv-newest/bin/python tests/environments.py run newest

# The tests of compiled code as it is for any processor, without the instructions of this one.
test-generic: $(VENV)/test.stamp
	NUMBA_CPU_NAME=generic $(BIN)/python tests/environments.py run generic $(patsubst %,tests/test_%.py,$(CORE))
CORE := assault certified_parts chunks core exact_fits graph invariances losses_and_penalties neighbours \
  parts projection_kernels reference_equality solver starts_and_penalties storage structures subspace \
  threads transform truth vectors warm_start

# Generated cases for hours, from FIRST on; each is made again from its number.
FIRST ?= 1000
COUNT ?= 100000
fuzz: $(VENV)/test.stamp
	cd tests && ../$(BIN)/python -m fuzz $(FIRST) $(COUNT)

# What the tests notice of a core that is broken on purpose, and files from strangers by the thousand.
mutation: $(VENV)/test.stamp
	$(BIN)/python -m benchmarks.mutation

hostile: $(VENV)/test.stamp
	PYTHONPATH=tests $(BIN)/python -m hostile --cases 20000 --rows docs/hostile.csv

# Threads that wait at random, fits that are broken off at random, and several fits at once.
threads: $(VENV)/test.stamp
	echo what,runs,wrong,count > docs/threads.csv
	$(BIN)/python tests/pauses.py 5000 --rows docs/threads.csv
	$(BIN)/python tests/interrupts.py 3000 --rows docs/threads.csv
	$(BIN)/python tests/nested.py
	$(BIN)/python -m benchmarks.at_once
	$(BIN)/python -m benchmarks.promises

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/docs.stamp
	$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build
	@echo "Documentation: docs/_build/index.html"

bench: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks

# A wheel and an sdist that are fit for publication: each is installed into an empty environment and
# fits a model there, away from the sources.
dist: $(VENV)/release.stamp
	rm -rf dist build/empty
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	for file in dist/*; do \
	  rm -rf build/empty && $(PYTHON) -m venv build/empty && \
	  PIP_CONSTRAINT=$(CURDIR)/constraints.txt build/empty/bin/python -m pip install --quiet \
	    --disable-pip-version-check "./$$file[cli]" && \
	  (cd build && empty/bin/seminmf demo --out empty/demo) || exit 1; \
	done
	@echo "Ready: $$(ls dist/*). make publish uploads them."

publish: dist
	$(BIN)/python -m twine upload dist/*

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest demo-report docs/_build docs/gallery docs/generated build dist .pytest_cache .mypy_cache .ruff_cache .coverage

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
