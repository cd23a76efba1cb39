# `make help` lists the targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help env demo test check lint types golden bench calibrate docs lock clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.ready: requirements-dev.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements-dev.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

env: $(VENV)/.ready ## Build the environment in .venv from the lock file.

demo: env ## The whole job on an example, on the built-in sandbox.
	$(BIN)/python -m inferform.cli.demo examples/contract-qa.yaml

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy does not follow editable import hooks, so it reads a folder of links with the import layout.
types: env
	@mkdir -p build/types/inferform && cd build/types/inferform && ln -sfn ../../../modules/* . && for part in cli stacks templates policies; do ln -sfn ../../../$$part $$part; done
	cd build/types && MYPYPATH=. ../../$(BIN)/mypy --config-file ../../pyproject.toml -p inferform

check: lint types ## Lint and types.

test: check ## Lint, types and all tests.
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests

golden: env ## Write the golden files anew; read the difference as you would code.
	$(BIN)/python -m pytest -q tests/stacks tests/render --golden-write

bench: env ## Time the commands and compare with the prebuilt bindings.
	$(BIN)/python tests/bench/commands.py
	$(BIN)/python tests/bench/environments.py

calibrate: env ## Refit the performance constants and cross-validate them (some minutes).
	$(BIN)/python tests/bench/fit_performance.py --cross-validate

docs: env ## Write the reference pages (commands, spec fields, policies) into docs/.
	$(BIN)/python -m inferform.cli.reference docs

lock: ## Resolve requirements.lock and requirements-dev.lock anew.
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url --extra sandbox --extra cdktn --extra plots --extra schemas pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url --extra sandbox --extra cdktn --extra plots --extra schemas --group dev pyproject.toml -o requirements-dev.lock

clean: ## Remove what was built.
	rm -rf $(VENV) build dist *.egg-info
