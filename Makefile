# make demo   everything end to end, from houses to a table and pictures (under 15 minutes on 2 cores)
# make test   the tests
# make check  the tests, lint, types and docs
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
DEMO := out/demo
DATA := data
# Parallelism is by process.
export OMP_NUM_THREADS ?= 1

define step
@printf '\n== %s\n' "$(1)"; start=$$(date +%s); $(2) && printf '== took %s s\n' "$$(( $$(date +%s) - start ))"
endef

.PHONY: demo test check clean
.DEFAULT_GOAL := demo

# One environment for all targets; the stamp is newer than setup.cfg when it is up to date.
.venv/installed: setup.cfg pyproject.toml
	@printf '== creating .venv and installing hm3dm3 (torch is the large part)\n'; start=$$(date +%s); \
	$(PYTHON) -c 'import sys; assert (3, 11) <= sys.version_info[:2] <= (3, 13), "hm3dm3 needs Python 3.11 to 3.13, this is " + sys.version' && \
	$(PYTHON) -m venv .venv && $(BIN)/pip install -q --disable-pip-version-check -e '.[higa,dev]' && touch $@ && \
	printf '== took %s s\n' "$$(( $$(date +%s) - start ))"

demo: .venv/installed
	@date +%s > .venv/demo-start
	$(call step,1/6 houses to train in: 16 houses and 64 episodes,$(BIN)/python -m hm3dm3_env.episodes.generate split=train houses=16 episodes=64 data=$(DATA))
	$(call step,2/6 unseen houses: 8 houses and 24 episodes,$(BIN)/python -m hm3dm3_env.episodes.generate split=val houses=8 episodes=24 data=$(DATA))
	$(call step,3/6 observation-assignment samples with oracle labels,$(BIN)/python -m train.dataset size=800 episodes_per_shard=1 mixture.snapshots=20 data=$(DATA) out=$(DEMO)/samples)
	$(call step,4/6 behaviour cloning,$(BIN)/python -m train.bc dataset=$(DEMO)/samples out=$(DEMO)/bc.pt train.epochs=10 train.tracking=off)
	$(call step,5/6 DAgger: three rounds,$(BIN)/python -m train.dagger start=$(DEMO)/bc.pt out=$(DEMO)/dagger.pt samples=160 collect.episodes_per_shard=1 collect.mixture.snapshots=20 collect.data=$(DATA) collect.out=$(DEMO)/samples train.epochs=6 train.tracking=off)
	$(call step,6/6 evaluation on the unseen houses,$(BIN)/python -m eval.benchmark --config-name demo data=$(DATA) out=$(DEMO)/eval)
	@printf '\n== the demo took %s s in all\n' "$$(( $$(date +%s) - $$(cat .venv/demo-start) ))"
	@printf 'table:     $(DEMO)/eval/table.txt\npictures:  $(DEMO)/eval/pictures/\nvideo:     $(DEMO)/eval/videos/\ntraining:  $(DEMO)/bc-log/curves.png\n'

test: .venv/installed
	$(call step,tests,$(BIN)/python -m pytest)

check: .venv/installed test
	$(call step,lint,$(BIN)/ruff check .)
	$(call step,types,$(BIN)/mypy)
	$(call step,docs: every public name has a docstring; README commands exist,$(BIN)/python -m pytest -q tests/test_docs.py)

clean:
	rm -rf .venv out data build *.egg-info
