# Everything through two commands: `make run` and `make test`; `make test-all` takes longer. Needs Python 3.11 or newer, and make.
# `make web` builds the reader again, and needs Node.

# With PYTHON=python3.13, on the command line or in the environment, that version has environments of its own beside the usual ones.
ifeq ($(origin PYTHON),undefined)
PYTHON := python3
VENV := .venv
ENVIRONMENTS := build/environments
else
ENVIRONMENTS := build/environments/$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VENV := $(ENVIRONMENTS)/tests
endif
BIN := $(VENV)/bin
# Compiled modules are kept, also where the environment says otherwise, as it does in many containers.
KEEP_BYTECODE := env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX=$(CURDIR)/build/bytecode
# AGAIN=scripts/again.sh, as in CI, runs the tests that failed once more.
AGAIN :=
# TESTS=tests/test_rules.py makes `make test` run some of the tests.
TESTS :=
PYTEST := $(KEEP_BYTECODE) $(AGAIN) $(BIN)/python -m pytest

.PHONY: run test test-all test-whole test-sdk test-share test-formats test-engines test-rerun try-client fuzz mutants mutation docs check-types lint web check-web package components chromium clean

run: $(VENV)/.installed
	@$(BIN)/reread --demo ls
	@echo
	@if [ -t 1 ]; then $(BIN)/reread --demo serve; else $(BIN)/reread --demo show latest; fi

test: $(VENV)/.tested-with chromium
	@$(MAKE) --no-print-directory -j2 lint check-types check-web
	$(PYTEST) -n auto --dist worksteal $(TESTS)

# What `make test` leaves out: all examples and files of the tests that take a sample, the SDK, Kingfisher, and the packages.
# Large engines and programs have commands of their own: test-engines, test-formats.
test-all: test-whole test-sdk test-share package

test-whole: $(VENV)/.tested-with chromium
	REREAD_TESTS=all $(PYTEST) -n auto --dist worksteal -m sampled --ignore tests/browser/test_components.py

# The official Agent SDK against the fake client, the stand-in for the API and the session store; it is a large package.
test-sdk: $(VENV)/.tested-with
	$(call other,'.[sdk]' trio)
	$(OTHER_PYTEST) tests_sdk

# Kingfisher, the second engine of redaction: 22 MB, and it takes seconds to start.
test-share: $(VENV)/.tested-with
	$(call other,'.[share]')
	REREAD_KINGFISHER_TESTS=1 $(OTHER_PYTEST) tests/test_kingfisher.py tests/test_share.py

# The programs that read what is exported, and the real client with the plug-in: Harbor, datasets, TRL and more, 1 GB.
test-formats: $(VENV)/.tested-with
	$(call other,'.[lsp$(comma)mcp]' --requirement tests_formats/requirements.txt)
	@command -v nvim >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get update -qq && apt-get install -y -qq neovim; } || echo "No Neovim here: its test will be skipped."
	$(OTHER)/python -m pip install --quiet --disable-pip-version-check --no-deps 'harbor>=0.25; python_version >= "3.12"' trl  # without torch
	@[ -x build/environments/phoenix/bin/python ] || $(BIN)/python -m venv build/environments/phoenix
	build/environments/phoenix/bin/python -m pip install --quiet --disable-pip-version-check arize-phoenix  # it pins what others need newer
	$(OTHER_PYTEST) tests_formats

# Buckets, Iceberg and Spark as they really are: moto as an S3 server, one for GCS, Azurite, pyiceberg, pyspark with Java. On Debian, as root, Java is installed.
test-engines: $(VENV)/.tested-with
	$(call other,'.[tables$(comma)spark$(comma)iceberg]' 'moto[server]>=5' 'boto3>=1.34' gcp-storage-emulator)
	@command -v npm >/dev/null && npm install --silent --prefix build/azurite azurite || echo "No npm here: the tests with Azure will be skipped."
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get update -qq && apt-get install -y -qq default-jre-headless; } || echo "No Java here: the tests with Spark will be skipped."
	$(OTHER_PYTEST) tests_engines --timeout 600 -o faulthandler_timeout=2000

# Other programs go into an environment of their own for each target, so that none changes what `make test` runs with.
comma := ,
OTHER = $(ENVIRONMENTS)/$@/bin
OTHER_PYTEST = $(KEEP_BYTECODE) $(AGAIN) $(OTHER)/python -m pytest
define other
@[ -x $(OTHER)/python ] || $(BIN)/python -m venv $(ENVIRONMENTS)/$@
$(OTHER)/python -m pip install --quiet --disable-pip-version-check hypothesis pytest pytest-timeout --editable $(1)
endef

# Recorded sessions played again by three versions of the real client, from npm: 600 MB. On Linux, as root or with user namespaces.
test-rerun: $(VENV)/.tested-with
	$(PYTEST) tests_rerun --timeout 600

# A version of the real client from npm, in a sandbox against a stub of the API: what do our types not know of it? REPORT=FILE has
# the answer, too.
try-client: $(VENV)/.tested-with
	$(BIN)/python real_client/try_client.py $(or $(VERSION),latest) $(if $(REPORT),--report $(REPORT))

# 20,000 mutated transcripts through every verb and view, and large structures: for the night. RUNS and SEED choose others.
fuzz: $(VENV)/.tested-with
	REREAD_FUZZ=$(or $(RUNS),20000) REREAD_FUZZ_SEED=$(or $(SEED),1000) $(PYTEST) tests/test_fuzz.py --timeout 0 -o faulthandler_timeout=0
	REREAD_LINEAR=20 $(PYTEST) tests/test_linear.py -k structures --timeout 0 -o faulthandler_timeout=0

# Break each guard against hostile input in turn: a test has to notice.
mutants: $(VENV)/.tested-with
	$(BIN)/python scripts/mutation.py guards

# Change one thing at a time in whole packages: is it noticed? PACKAGES and SAMPLE choose others; it takes an hour.
mutation: $(VENV)/.tested-with
	$(BIN)/python scripts/mutation.py map
	$(BIN)/python scripts/mutation.py try $(or $(PACKAGES),accounting model history archive redaction index dataset) --sample $(or $(SAMPLE),60)

# The documents as a site in build/site; a link that leads nowhere fails.
docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check mkdocs-material
	$(BIN)/python scripts/make_site.py

lint: $(VENV)/.tested-with
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

check-types: $(VENV)/.tested-with
	$(BIN)/pyright --pythonpath $(BIN)/python

web: $(VENV)/.installed web/node_modules/.installed
	$(BIN)/python scripts/make_types.py
	cd web && npm run --silent build

# What a release publishes, built and checked: the wheel, the source and, with Node, the React components for npm.
package: $(VENV)/.tested-with chromium
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	rm -rf dist
	$(BIN)/python -m build --outdir dist . >/dev/null
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory components; else echo "No Node here: no npm package."; fi
	REREAD_TESTS=all $(PYTEST) tests_package tests/browser/test_components.py --timeout 600
	-$(BIN)/python bench/regress.py --quick  # says what got slower; machines that build packages are too noisy to fail for it

# The React components as an npm package: dist/reread-react-VERSION.tgz.
components: web/node_modules/.installed
	cd web && npm run --silent components ../build/reread-react
	mkdir -p dist && cd build/reread-react && npm pack --silent --pack-destination ../../dist

# The built reader is committed: here it is built again, and has to be the same. Without Node that is skipped.
check-web: $(VENV)/.tested-with
	$(BIN)/python scripts/make_types.py --check
	@if command -v npm >/dev/null; then \
	  $(MAKE) --no-print-directory web/node_modules/.installed && cd web && npm run --silent check; \
	else \
	  echo "No Node here: whether the built reader is up to date was not checked."; \
	fi

web/node_modules/.installed: web/package.json web/package-lock.json
	cd web && npm ci --silent --no-audit --no-fund
	@touch $@

# The reader is tested in Chromium: as root on a Debian machine it is installed, elsewhere its tests are skipped.
# The program that drives it needs libatomic, which a small Debian does not have.
chromium:
	@missing=; command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing=chromium; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  dpkg --status libatomic1 >/dev/null 2>&1 || missing="$$missing libatomic1"; \
	  [ -z "$$missing" ] || { apt-get update -qq && apt-get install -y -qq $$missing; }; \
	elif [ -n "$$missing" ]; then \
	  echo "No Chromium here: the browser tests will be skipped."; \
	fi

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

clean:
	rm -rf .venv web/node_modules build dist .pytest_cache .ruff_cache .hypothesis
