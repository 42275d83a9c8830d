# Everything that people do here starts with `make`. The targets set up what they need in .venv and
# then do their job; scripts/setup.sh is the set-up, scripts/trials.sh finds tasks and trials.

.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN := .venv/bin

# What people give reaches the scripts through the environment, so that no value is ever read as shell code.
export PYTHON TASK TRIAL TRIALS A B ARGS
# These two make one Python load the modules of another.
unexport PYTHONPATH PYTHONHOME

.PHONY: help setup eval compare verify check lint format types layers test test-all bench doctor lock clean

help:
	@echo 'make TARGET [PYTHON=python3.12] [ARGS="more options of the command"]'
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## /{ printf "  %-9s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv with everything that development needs (the other targets do this by themselves)
	@sh scripts/setup.sh dev

eval: ## evaluate the trials of a task and print its leaderboard: make eval TASK=kepler [TRIAL=right_law]
	@sh scripts/trials.sh eval

compare: ## is one trial really better: make compare TASK=kepler A=right_law B=linear (or TRIALS="a b c")
	@sh scripts/trials.sh compare

verify: ## evaluate again and compare with what is on disk: make verify TASK=kepler [TRIAL=right_law]
	@sh scripts/trials.sh verify

check: lint format types layers ## ruff, ruff format, mypy --strict, the order of imports

lint: setup
	$(BIN)/python -m ruff check src tests $(wildcard benchmarks)

format: setup
	$(BIN)/python -m ruff format --check src tests $(wildcard benchmarks)

types: setup
	$(BIN)/python -m mypy --strict src

layers: setup
	$(BIN)/lint-imports --no-logo

test: setup ## the everyday tests
	$(BIN)/python -m pytest -m "not slow" $$ARGS

test-all: setup ## all tests, the slow ones too
	$(BIN)/python -m pytest $$ARGS

bench: setup ## run the benchmarks
	@for file in benchmarks/bench_*.py; do $(BIN)/python "$$file" $$ARGS || exit; done

doctor: ## does this machine confine the code of trials: tries every protection
	@sh scripts/setup.sh runtime
	@$(BIN)/srh doctor $$ARGS

lock: ## renew requirements.lock with the newest versions that fit
	@sh scripts/lock.sh

clean: ## remove .venv, caches and builds; results of trials stay
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
