# The commands of the project. Each sets up what it needs in .venv, and is quick the second time.
.PHONY: demo test test-slow test-all check cover bench screenshots cases docs applybench pyz pythons newest-python release clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two more than there are processors, because a test often waits for what it started.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
# Tests start thousands of processes: none is to compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

demo: $(VENV)/.run          ## show the main job on an example answer
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash tools/demo

test: check                 ## style, types, and all tests that are not slow; TESTS="tests/mcp" for some
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TESTS)

test-slow: $(VENV)/.dev     ## the slow tests alone: kills, races, attacks, browsers, packages, whole tables
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m slow $(TESTS)

test-all: test test-slow    ## all tests

check: $(VENV)/.dev         ## style, types, direction of dependencies
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

cover: $(VENV)/.dev         ## the lines and branches that no test reaches; slower than the tests alone
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term-missing:skip-covered

bench: $(VENV)/.dev         ## speed and memory, as ratios in one run; PARTS="start git" for some, WRITE=1 for the page
	$(BIN)/python -m tools.benchmarks $(if $(WRITE),--write) $(PARTS)

screenshots: $(VENV)/.browser  ## the pictures of docs/review.md, taken of a real review
	$(BIN)/python -m tools.screenshots

cases: $(VENV)/.run         ## the conformance corpus
	$(BIN)/python tools/conformance tests/corpus -- $(BIN)/clada parse

docs: $(VENV)/.docs         ## the docs as a site, in build/site; dead links are errors
	$(BIN)/zensical build --strict --config-file mkdocs.yml

applybench: $(VENV)/.run    ## appliers compared on real changes (docs/applybench.md); FULL=1 for all tasks
	$(BIN)/python -m applybench --page docs/applybench.md $(if $(FULL),--full)

pyz: $(VENV)/.run           ## clada as one file, build/clada.pyz, for every Python from 3.11 on
	$(BIN)/python -m tools.build_pyz build/clada.pyz

# What depends on the version of Python: parsing, text, operations and the command line.
NEWEST := tests/operations tests/text tests/test_answers.py tests/test_cases.py tests/test_syntax.py
QUICK_HALF := $(NEWEST) tests/cli tests/notations

pythons: $(VENV)/.run       ## the quick half of the tests under every Python from 3.11 on; TESTS="tests/mcp" for others
	$(BIN)/python -m tools.pythons tests -n $(WORKERS) $(or $(TESTS),$(QUICK_HALF))

newest-python: $(VENV)/.run ## what most depends on Python, under the newest one, with warnings as errors
	$(BIN)/python -m tools.pythons newest -n $(WORKERS) $(or $(TESTS),$(NEWEST))

release: $(VENV)/.dev       ## build and check all packages; TAG=1 tags the version
	$(BIN)/python -m tools.release $(if $(TAG),--tag)

clean:
	rm -rf $(VENV) build *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage .hypothesis

# The set-up: once for running, once more for developing.
$(VENV)/.run: requirements/run.txt pyproject.toml
	@sh tools/setup "$(PYTHON)" "$(VENV)" run

$(VENV)/.dev: requirements/dev.txt $(VENV)/.run
	@sh tools/setup "$(PYTHON)" "$(VENV)" dev

$(VENV)/.ray: requirements/ray.txt $(VENV)/.dev
	@sh tools/setup "$(PYTHON)" "$(VENV)" ray

$(VENV)/.docs: requirements/docs.txt $(VENV)/.run
	@sh tools/setup "$(PYTHON)" "$(VENV)" docs

$(VENV)/.hosts: requirements/hosts.txt $(VENV)/.dev
	@sh tools/setup "$(PYTHON)" "$(VENV)" hosts

build/langchain/.langchain: requirements/langchain.txt
	@sh tools/setup "$(PYTHON)" build/langchain langchain

$(VENV)/.browser: requirements/browser.txt $(VENV)/.dev
	@sh tools/setup "$(PYTHON)" "$(VENV)" browser

$(VENV)/.inspect: requirements/inspect.txt $(VENV)/.dev
	@sh tools/setup "$(PYTHON)" "$(VENV)" inspect
