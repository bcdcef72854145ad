PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INTEROP := .venv-interop
BROWSER := .venv-browser
GPU := .venv-gpu
RLBERRY := .venv-rlberry

.PHONY: help test test-interop test-browser test-gpu check bench peers reproduce format clean

help:  ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

test: $(READY)  ## Run all tests, in parallel (sets everything up first)
	$(BIN)/pytest $(ARGS)

$(INTEROP)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(INTEROP)
	$(INTEROP)/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(INTEROP)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt stable-baselines3 flax==0.12.8 seaborn six -e '.[dev]'
	$(INTEROP)/bin/pip install --quiet --disable-pip-version-check --no-deps gymnax==1.0.1  # it asks for an older Gymnasium, but works with this one
	@touch $@

test-interop: $(INTEROP)/.ready  ## Run the tests beside other frameworks (installs them in an environment of their own)
	$(INTEROP)/bin/pytest tests/interop $(ARGS)

$(BROWSER)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BROWSER)
	$(BROWSER)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt playwright -e '.[dev]'
	@touch $@

test-browser: $(BROWSER)/.ready  ## Open a report in a real browser (installs Chromium with apt if there is none)
	command -v chromium > /dev/null || (apt-get update -qq && apt-get install -y -qq chromium > /dev/null)
	$(BROWSER)/bin/pytest tests/browser $(ARGS)

$(GPU)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(GPU)
	$(GPU)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,cuda]'
	@touch $@

test-gpu: $(GPU)/.ready  ## Run lanes on this machine's GPU against the CPU (installs numba-cuda in an environment of its own)
	$(GPU)/bin/pytest -n 0 tests/gpu $(ARGS)

reproduce: $(READY)  ## Reproduce the paper and write results/paper/report.html; ARGS=--quick for a minute's worth
	$(BIN)/heavytail reproduce $(ARGS)

check: $(READY)  ## Lint, formatting, types and import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(READY)  ## Print every speed figure of the README beside its peer
	$(BIN)/python benchmarks/bench.py $(ARGS)

$(RLBERRY)/.ready:
	$(PYTHON) -m venv $(RLBERRY)
	$(RLBERRY)/bin/pip install --quiet --disable-pip-version-check rlberry==0.6.0 gymnasium==0.29.1 numba  # rlberry 0.7 has no OptQL, UCBVI and PSRL of its own
	@touch $@

peers: $(INTEROP)/.ready $(RLBERRY)/.ready  ## Install the libraries that `make bench` compares with, in environments of their own

format: $(READY)  ## Format the code and mend what the linter can
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean:  ## Remove the environment and all caches
	rm -rf $(VENV) $(INTEROP) $(BROWSER) $(GPU) $(RLBERRY) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
