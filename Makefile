# Every target does its own set-up: it needs Python 3.11 to 3.13, make and the package registries.
# ARGS goes to the program that a target runs: make demo ARGS="--seconds 30", make test ARGS="-k reset".

ARGS ?=
JOBS ?= 2
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null \
	&& echo $$p && break; done)

BIN := .venv/bin
VENV := .venv/.made
TOOLS := .cache/tools/.made
# The folder `tests` on the path: the scripts under it import each other as `tools`, `engine`, …
RUN := PYTHONPATH=tests $(BIN)/python

LOCK = .cache/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help venv tools demo test lint test-engine test-engine-short test-engine-long bench-exporter bench-plugin bench-proxy soak-proxy bench-detect bench-watch bench-classes bench-fallback bench-scale bench-dashboards bench-doctor bench-report bench-demo classes-model docs pictures lock clean
.DELETE_ON_ERROR:
.SUFFIXES:

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

venv: $(VENV) ## Make .venv from the lock, with this project in it, editable

tools: $(TOOLS) ## Fetch Prometheus, promtool, Alertmanager and helm into .cache/tools/bin, without root

demo: $(VENV) ## Show a speculative engine live in the terminal; needs no GPU
	@$(BIN)/specwatch demo $(ARGS)

test: $(VENV) $(TOOLS) ## Run all tests but those that drive a real vLLM
	$(BIN)/python -m pytest -n $(JOBS) -m "not engine and not engine_long" $(ARGS)

lint: $(VENV) ## Check style, types and the import direction
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test-engine: test-engine-short test-engine-long ## Run all tests that drive a real vLLM on the CPU (2.4 GB on first use; half an hour)

test-engine-short: $(VENV) $(TOOLS) ## Those of them that need not be alone on the machine; continuous integration runs these
	$(RUN) tests/engine/setup_vllm.py
	$(BIN)/python -m pytest -m engine tests/engine $(ARGS)

test-engine-long: $(VENV) $(TOOLS) ## Those that want the machine for themselves, for minutes
	$(RUN) tests/engine/setup_vllm.py
	$(BIN)/python -m pytest -n 0 -m engine_long tests/engine $(ARGS)

bench-exporter: $(VENV) ## Measure what the scrape sidecar costs
	$(RUN) tests/bench_exporter.py $(ARGS)

bench-plugin: $(VENV) ## Measure what the plugin costs inside a real vLLM on the CPU
	$(RUN) tests/engine/setup_vllm.py
	$(RUN) tests/bench_plugin.py $(ARGS)

bench-proxy: $(VENV) ## Measure the request sidecar beside nginx, vllm-router and LiteLLM
	$(RUN) tests/bench_proxy/run.py $(ARGS)

soak-proxy: $(VENV) ## Ten thousand streams with random disconnects through the request sidecar
	$(RUN) tests/soak_proxy.py $(ARGS)

bench-watch: $(VENV) ## Measure a round of the fleet watch: 1,000 pods x 12 traffic classes
	$(RUN) tests/bench_watch.py $(ARGS)

bench-detect: $(VENV) ## Measure the drift detectors beside river's, on simulated traffic (half an hour)
	$(RUN) tests/bench_detect/run.py $(ARGS)

bench-classes: $(VENV) ## Measure the traffic classifier
	$(RUN) tests/bench_classes.py $(ARGS)

bench-fallback: $(VENV) ## Simulate a month with ten drifts under six ways of falling back
	$(RUN) tests/bench_fallback/run.py $(ARGS)

bench-scale: $(VENV) ## Simulate seven traces under specwatch's demand and six other ways to scale (8 minutes)
	$(RUN) tests/bench_scale/run.py $(ARGS)

bench-dashboards: $(VENV) $(TOOLS) ## Time every query of the dashboards at 200 pods and a day of data (1 GB in the temporary folder)
	$(RUN) tests/bench_dashboards.py $(ARGS)

bench-doctor: $(VENV) ## Time the doctor over 200 dashboards and 2,000 rules
	$(RUN) tests/bench_doctor.py

bench-demo: $(VENV) ## Run a small matrix against the replay engine, in a minute
	@$(BIN)/specwatch bench run bench/matrices/replay-demo.yaml $(ARGS)

bench-report: $(VENV) ## Write the published report anew from its raw records
	@$(BIN)/specwatch bench report bench/results $(ARGS)

classes-model: $(VENV) ## Make the shipped traffic classifier anew, and the tables about it (downloads 50 MB)
	$(RUN) -m classes_corpus.make_model

docs: $(VENV) ## Write the generated tables into docs/, and the generated files of the chart
	$(RUN) tests/tools/update_docs.py $(ARGS)
	$(RUN) -m deploy.chart.update_chart

pictures: $(VENV) ## Take the documentation's pictures anew, with headless Chromium
	$(RUN) tests/tools/fetch_tools.py chromium
	$(RUN) tests/tools/make_pictures.py

lock: .cache/lock/.made ## Rewrite requirements/*.txt; ARGS=--upgrade takes newer versions
	$(LOCK) --extra all --group dev --output-file requirements/all.txt pyproject.toml
	$(LOCK) --group dev --constraint requirements/all.txt --output-file requirements/dev.txt pyproject.toml
	$(LOCK) --extra detect --extra kube --extra slack --constraint requirements/all.txt \
		--output-file requirements/image.txt pyproject.toml
	$(LOCK) --constraint requirements/all.txt --output-file requirements/build.txt requirements/build.in
	$(LOCK) --no-deps --output-file requirements/tools.txt requirements/tools.in
	$(LOCK) --no-deps --output-file requirements/lock.txt requirements/lock.in

clean: ## Remove .venv, .cache and what the checkers left
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

$(VENV): requirements/dev.txt pyproject.toml tests/tools/make_venv.py
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11, 3.12 or 3.13 on PATH; install one or say make PYTHON=..." >&2; exit 1; }
	@PYTHONPATH=tests $(PYTHON) -m tools.make_venv
	@touch $@

$(TOOLS): $(VENV) requirements/tools.txt $(wildcard tests/tools/*.py)
	@$(RUN) -m tools.fetch_tools
	@touch $@

.cache/lock/.made: $(VENV) requirements/lock.txt
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes --upgrade \
		--requirement requirements/lock.txt --target .cache/lock
	@touch $@
