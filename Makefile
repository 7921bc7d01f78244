# Two commands: `make demo` shows it, `make test` proves it. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The tests wait for the disk at every write that must survive a power cut; in memory they need not.
# A container may have only 64 MB there, too little for either set.
SCRATCH := $(shell test -w /dev/shm && df -Pk /dev/shm | awk 'NR == 2 && $$4 < 4000000 { exit 1 }' \
	&& echo /dev/shm || echo $${TMPDIR:-/tmp})
# A test that hangs is ended after a quarter of an hour, with the line at which it waits.
PATIENCE := -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true
PYTEST = PATH="$(CURDIR)/$(BIN):$$PATH" TMPDIR="$(SCRATCH)" $(BIN)/python -m pytest -n $(WORKERS) -p tests.times $(PATIENCE)
# Tests wait for git, for servers and for each other a third of their time: half as many workers again as there are cores.
WORKERS := $(shell echo $$(( ($$(getconf _NPROCESSORS_ONLN) * 3 + 1) / 2 )))
SEED ?= $(shell date -u +%Y%m%d)
# Where commands are killed in tests/slow/test_crash_points.py and test_killed_landings.py: everywhere, or a sample.
CRASH_POINTS ?= all
# What else pytest or benchmarks/run.py is given: make test FLAGS="-x --slowest 20"
FLAGS :=

# A machine that forbids compiled modules would compile all modules again in each of the thousands of processes here.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test test-times check style types floors peers slow bench format docs clean

help: ## show this
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

$(READY): pyproject.toml gitnexus/__init__.py
	@$(PYTHON) -c 'import sys; sys.exit("git nexus needs Python 3.11 or newer; say which: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(READY) ## run the main job in a scratch repository
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/tutorial/demo.sh

test: $(READY) ## run the fast tests, and say where their time went
	@$(PYTEST) -m "not slow" $(FLAGS)

test-times: $(READY) ## run the fast tests, and say more about their time: 40 tests, sums by file
	@$(PYTEST) -m "not slow" --slowest 40 $(FLAGS)

check: style types floors ## format, lint, types, floors

style: $(READY)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(READY)
	@$(BIN)/mypy
	@cd benchmarks && ../$(BIN)/mypy --config-file ../pyproject.toml *.py

floors: $(READY)
	@$(BIN)/lint-imports --no-logo

peers: $(READY) ## fetch the other programs that the slow tests need, once, into .venv/peers
	@$(BIN)/python -m tests.slow.fetch

slow: $(READY) ## run the tests that need peers, a network or minutes, and those by example with many of them
	@echo "SEED=$(SEED) make slow repeats what chance chooses in this run"
	@SEED=$(SEED) EXAMPLES=many CRASH_POINTS=$(CRASH_POINTS) $(PYTEST) -p tests.order --maxschedchunk=1 -m "slow or hypothesis" $(FLAGS)

bench: $(READY) ## print every measured ratio
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benchmarks/run.py $(FLAGS)

docs: $(READY) ## write the generated pages again
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python docs/reference/generate.py
	@$(BIN)/python conformance/generate.py
	@$(BIN)/git-nexus catalog manifest gitnexus/catalog/data

format: $(READY) ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## remove what this file made
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
