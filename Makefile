PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
INTEROP := .venv-interop
BROWSER := .venv-browser
GPU := .venv-gpu
LOWEST := .venv-lowest
RLBERRY := .venv-rlberry
DOCS := .venv-docs
PIP := pip install --quiet --disable-pip-version-check -c constraints.txt
# $(call environment,FOLDER): an empty environment; older versions of pip know no dependency groups
environment = $(PYTHON) -m venv $(1) && $(1)/bin/$(PIP) --upgrade pip

.PHONY: help test test-interop test-browser test-gpu test-lowest test-memory hostile kills fuzz check docs bench peers reproduce format clean

help:  ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

$(RUNS): pyproject.toml constraints.txt
	$(call environment,$(VENV))
	$(BIN)/$(PIP) -e '.[deep]'
	@touch $@

$(READY): $(RUNS)
	$(BIN)/$(PIP) --group dev -e '.[deep,ray]'
	@touch $@

test: $(READY)  ## Run all tests, in parallel (sets everything up first)
	$(BIN)/pytest $(ARGS)

$(INTEROP)/.ready: pyproject.toml constraints.txt
	$(call environment,$(INTEROP))
	$(INTEROP)/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(INTEROP)/bin/$(PIP) stable-baselines3 flax==0.12.8 seaborn six --group test -e '.[deep,ray]'
	$(INTEROP)/bin/$(PIP) --no-deps gymnax==1.0.1  # it asks for an older Gymnasium, but works with this one
	@touch $@

test-interop: $(INTEROP)/.ready  ## Run the tests beside other frameworks (in an environment of their own)
	$(INTEROP)/bin/pytest tests/interop $(ARGS)

$(BROWSER)/.ready: pyproject.toml constraints.txt
	$(call environment,$(BROWSER))
	$(BROWSER)/bin/$(PIP) playwright --group test -e '.[deep,ray]'
	@touch $@

test-browser: $(BROWSER)/.ready docs  ## Open a report and the site in a browser (installs Chromium with apt if there is none)
	command -v chromium > /dev/null || (apt-get update -qq && apt-get install -y -qq chromium > /dev/null)
	$(BROWSER)/bin/pytest tests/browser $(ARGS)

$(GPU)/.ready: pyproject.toml constraints.txt
	$(call environment,$(GPU))
	$(GPU)/bin/$(PIP) --group test -e '.[deep,ray,cuda]'
	@touch $@

test-gpu: $(GPU)/.ready  ## Run lanes on this machine's GPU against the CPU (in an environment of its own)
	$(GPU)/bin/pytest -n 0 tests/gpu $(ARGS)

$(LOWEST)/.ready: pyproject.toml constraints-lowest.txt
	$(call environment,$(LOWEST))
	$(LOWEST)/bin/pip install --quiet -c constraints-lowest.txt pytest pytest-xdist hypothesis -e .
	@touch $@

test-lowest: $(LOWEST)/.ready  ## Run the contract tests with the oldest libraries that are admitted
	$(LOWEST)/bin/pytest tests/contract $(ARGS)

test-memory: $(READY)  ## Run agents, also from hostile files, in code that checks every index
	NUMBA_BOUNDSCHECK=1 $(BIN)/pytest tests/contract $(ARGS)
	NUMBA_BOUNDSCHECK=1 PYTHONPATH=tests:benchmarks $(BIN)/python -m fuzz agent_files --inputs 3000 --seed 1

hostile: $(READY)  ## Try hostile inputs: 100,000 of them, or as ARGS="--inputs 1000 agent_files" says
	PYTHONPATH=tests:benchmarks $(BIN)/python -m fuzz $(ARGS)

kills: $(READY)  ## Kill services and studies at random moments: is anything lost? It renews a table of the site
	PYTHONPATH=tests:benchmarks $(BIN)/python -m fuzz.kills $(ARGS)

fuzz: $(READY)  ## Look for new faults: properties on ten times as many examples, new in every run; ARGS=FOLDER
	$(BIN)/pytest -m hypothesis --hypothesis-profile=new $(ARGS)

reproduce: $(RUNS)  ## Reproduce the paper: results/paper/report.html; ARGS=--quick at a smaller scale
	$(BIN)/heavytail reproduce $(ARGS)

check: $(READY)  ## Lint, formatting, spelling, types, import layers and the habits of the ecosystem
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/repo-review . --show err

$(DOCS)/.ready: pyproject.toml constraints.txt
	$(call environment,$(DOCS))
	$(DOCS)/bin/$(PIP) --group docs -e '.[deep]'
	@touch $@

docs: $(DOCS)/.ready  ## Build the site: docs/_build/index.html; EXAMPLES=none runs no example of the gallery
	$(DOCS)/bin/sphinx-build -q -W --keep-going -j 2 docs docs/_build

bench: $(READY)  ## Print every speed figure of the site beside its peer
	$(BIN)/python benchmarks/bench.py $(ARGS)

$(RLBERRY)/.ready:
	$(PYTHON) -m venv $(RLBERRY)
	# rlberry 0.7 has no OptQL, UCBVI and PSRL of its own
	$(RLBERRY)/bin/pip install --quiet --disable-pip-version-check rlberry==0.6.0 gymnasium==0.29.1 numba
	@touch $@

peers: $(INTEROP)/.ready $(RLBERRY)/.ready  ## Install the libraries that `make bench` compares with, in environments of their own

format: $(READY)  ## Format the code and mend what the linter can
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean:  ## Remove the environment and all caches
	rm -rf $(VENV) $(INTEROP) $(BROWSER) $(GPU) $(LOWEST) $(RLBERRY) $(DOCS) docs/_build docs/generated
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
