# The commands of a developer's day. Each makes what it needs: a new clone and Python 3.11 are enough.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
LOCK := $(wildcard requirements.lock)
IMAGE ?= inference-apiserver:dev

.DEFAULT_GOAL := help
.PHONY: help dev check test e2e conformance controlplane image bench lock clean

help: ## what there is
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(STAMP): pyproject.toml $(LOCK)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]' $(if $(LOCK),-c $(LOCK))
	touch $@

dev: $(STAMP) ## the whole system on this machine, without a cluster
	$(BIN)/inference-apiserver dev --data-dir=.dev

check: $(STAMP) ## style, types, import contracts, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@for generator in storage/etcd/proto/generate.py deploy/chart/generate.py; do \
	  if test -f $$generator; then $(BIN)/python $$generator --check || exit 1; fi; \
	done

test: $(STAMP) ## the tests that need no control plane
	$(BIN)/pytest -m 'not e2e'

controlplane: ## build kube-apiserver and friends once into the cache (about 6 minutes, needs Go)
	$(PYTHON) tests/e2e/controlplane/build.py

e2e: $(STAMP) controlplane ## the tests against a real control plane
	REQUIRE_E2E=1 $(BIN)/pytest -m e2e tests/e2e

conformance: $(STAMP) controlplane ## the same requests to us and to a CRD
	REQUIRE_E2E=1 $(BIN)/pytest -m e2e tests/conformance

image: ## the container image
	docker build --tag $(IMAGE) .

bench: $(STAMP) controlplane ## side by side with a CRD and sample-apiserver; prints ratios (10 minutes)
	$(BIN)/python benchmarks/run.py

lock: ## write requirements.lock anew from the newest packages that pyproject.toml allows
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/pip install --quiet --disable-pip-version-check -e '.[dev]'
	build/lock/bin/pip freeze --exclude-editable > requirements.lock
	rm -rf build/lock

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
