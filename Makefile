# Everything through two commands: `make run` and `make test`. Needs Python 3.11 or newer, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test test-sdk check-types lint clean

run: $(VENV)/.installed
	@$(BIN)/reread --demo ls
	@echo
	@$(BIN)/reread --demo show latest

test: $(VENV)/.tested-with lint check-types
	$(BIN)/python -m pytest

# The official Agent SDK as the client of the stand-in, and of the session store; it is a large package.
test-sdk: $(VENV)/.tested-with-sdk
	$(BIN)/python -m pytest tests_sdk

lint: $(VENV)/.tested-with
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

check-types: $(VENV)/.tested-with
	$(BIN)/pyright --pythonpath $(BIN)/python

# A Debian machine may have Python without venv: then, as root, it is installed first.
$(BIN)/python:
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
	  rm -rf $(VENV); \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq python3-venv; \
	  fi; \
	  $(PYTHON) -m venv $(VENV); \
	}

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.tested-with: $(VENV)/.installed requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	@touch $@

$(VENV)/.tested-with-sdk: $(VENV)/.tested-with
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[sdk]' trio
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
