# The commands of the project. Each sets up what it needs in .venv, and is quick the second time.
.PHONY: demo test check bench prove cases clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

demo: $(VENV)/.run          ## show the main job on an example answer
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash tools/demo

test: check                 ## everything that must hold
	$(BIN)/python -m pytest -n auto --cov --cov-report=term:skip-covered

check: $(VENV)/.dev         ## style, types, direction of dependencies
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: $(VENV)/.dev         ## speed and memory, as ratios in one run
	$(BIN)/python -m tools.benchmarks $(if $(WRITE),--write)

prove: $(VENV)/.prove       ## what holds under load, faults and hostile input; QUICK=1 for a quick look
	$(BIN)/python -m tools.prove $(if $(QUICK),--quick)

cases: $(VENV)/.run         ## the conformance corpus
	$(BIN)/python tools/conformance tests/corpus -- $(BIN)/clada parse

clean:
	rm -rf $(VENV) build *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage .hypothesis

# The set-up: once for running, once more for developing.
$(VENV)/.run: requirements/run.txt pyproject.toml
	@sh tools/setup "$(PYTHON)" "$(VENV)" run

$(VENV)/.dev: requirements/dev.txt $(VENV)/.run
	@sh tools/setup "$(PYTHON)" "$(VENV)" dev

$(VENV)/.prove: requirements/prove.txt $(VENV)/.dev
	@sh tools/setup "$(PYTHON)" "$(VENV)" prove
