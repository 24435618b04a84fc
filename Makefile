# Everything from a clone to a dataset, with Python 3.11+ and make only.  `make` lists the targets.

PYTHON  ?= python3
SIZE    ?= 10000
WORKERS ?= $(shell getconf _NPROCESSORS_ONLN)
OUT     ?= data/out
ARGS    ?=

BIN       := .venv/bin
INSTALLED := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help setup data test check bench new-family clean

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
	@echo "  settings: PYTHON=$(PYTHON) SIZE=$(SIZE) WORKERS=$(WORKERS) OUT=$(OUT) ARGS=..."

setup: $(INSTALLED) ## builds .venv with the tried versions (skipped while pyproject.toml and constraints.txt stand)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "orpipe needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	@echo "setup: installing into .venv (about a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[judge,dev]'
	@touch $@

data: setup ## generates the dataset into OUT (SIZE=500 for a first look)
	@$(BIN)/orpipe generate --out $(OUT) --sft $(SIZE) --workers $(WORKERS) $(ARGS)

test: setup ## runs the tests on all cores (ARGS='-k knapsack' for some)
	@$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

check: setup ## ruff and mypy
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy orpipe solvers

bench: setup ## measures speed, memory and acceptance, then the judge (ARGS=--update-readme writes the tables)
	@$(BIN)/python -m orpipe.testing.bench --workers $(WORKERS) $(ARGS)
	@$(BIN)/python -m orpipe.testing.bench_verify --workers $(WORKERS) $(filter --quick --json --update-readme,$(ARGS))

new-family: setup ## NAME=my_family: starts a problem family: its file, its words, its golden instance
	@test -n "$(NAME)" || { echo "make new-family: which? NAME=my_family" >&2; exit 2; }
	@$(BIN)/python -m orpipe.testing.new_family $(NAME) $(ARGS)

clean: ## removes .venv and caches; data stay
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find orpipe solvers tests -name __pycache__ -prune -exec rm -rf {} +
