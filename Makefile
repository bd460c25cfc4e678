# make demo    run the demo on bundled events             make test    run all tests except the long ones
# make check   check lint, format and types               make bench   compare catch-up with the usual recipe
# make faults  put faults into the recorded streams, and write which of them the checks find (half an hour)
# make test-long  run the tests that take minutes each; the result goes to tests/LONG.md
# make property  run thousands of random cases (half an hour); the result goes to tests/property/RESULT.md
# make crashes  kill every command at every commit (an hour or two); the result goes to tests/crash/RESULT.md
# make test-spark VERSION=4.0  run the core of the tests with another version of Spark, in .venv-spark-4.0
# make docs   build the documentation into build/site, strict
# make soak  simulate nights with kills, maintenance and rebuilds (HOURS=1); the result goes to tests/crash/SOAK.md
# Each target works from a clean clone: the first run creates .venv and installs everything into it.

SHELL := /bin/sh
VENV := .venv
READY := $(VENV)/.ready
JAVA := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)

.PHONY: demo test test-spark test-long property crashes soak check faults bench docs java clean
.DEFAULT_GOAL := demo

demo: java $(READY)
	@$(VENV)/bin/siltstone demo

test: java $(READY)
	@$(VENV)/bin/python -m pytest --numprocesses 2 --dist loadfile

VERSION := 4.0
OTHER := .venv-spark-$(VERSION)
CORE := tests/e2e/test_demo.py tests/e2e/test_rebuild.py tests/e2e/test_maintain.py tests/e2e/test_exactly_once.py \
	$(wildcard tests/e2e/test_truth_*.py) tests/conformance tests/property
test-spark: java $(READY)
	@test -x $(OTHER)/bin/python || $(VENV)/bin/python -m venv $(OTHER)
	@$(OTHER)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' 'pyspark==$(VERSION).*'
	@$(OTHER)/bin/python -m pytest --numprocesses 2 --dist loadfile $(CORE)

test-long: java $(READY)
	@$(VENV)/bin/python -m tests.long

property: java $(READY)
	@$(VENV)/bin/python -m tests.property.full

crashes: java $(READY)
	@$(VENV)/bin/python -m tests.crash.points

HOURS := 1
soak: java $(READY)
	@$(VENV)/bin/python -m tests.crash.soak --hours $(HOURS)

check: $(READY)
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check --quiet .
	@$(VENV)/bin/mypy

faults: java $(READY)
	@$(VENV)/bin/python -m tests.quality.fault_table

docs: $(READY)
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet

bench: java $(READY)
	@$(VENV)/bin/python tests/bench/bench.py

# The check for Java comes first, because nothing works without it.
java:
	@version=$$("$(JAVA)" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1); \
	if [ "$${version:-0}" -lt 17 ]; then \
	  echo "siltstone needs Java 17 or newer (found: $${version:-none}). Install it: sudo apt install openjdk-17-jre-headless | sudo dnf install java-17-openjdk-headless | brew install openjdk@17" >&2; \
	  exit 1; \
	fi

$(READY): pyproject.toml
	@if [ ! -x $(VENV)/bin/python ]; then \
	  for python in python3.13 python3.12 python3.11 python3.14 python3 python; do \
	    if $$python -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then \
	      echo "Making $(VENV) with $$($$python --version)"; \
	      $$python -m venv $(VENV) || exit 1; break; \
	    fi; \
	  done; \
	fi; \
	if [ ! -x $(VENV)/bin/python ]; then \
	  echo "siltstone needs Python 3.11 to 3.14 with venv. Install it: sudo apt install python3 python3-venv | brew install python@3.12" >&2; \
	  exit 1; \
	fi
	@echo "Installing siltstone and what it needs into $(VENV)"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	@rm -rf $(VENV) .venv-spark-* .mypy_cache .pytest_cache .ruff_cache .hypothesis siltstone-demo
