# The front door: `make demo` to try it, `make test` to trust it.
#
# PYTHON=python3.12   the interpreter .venv is built with (default: the first one that is new enough)
# JOBS=4              test processes (default: one a core, at most 8)
# MODEL=smollm2      the demo on a small language model, fetched into .tools (130 MB)
# ARGS='-k approval'  passed on to pytest (or to the bench)

CANDIDATES = python3 python3.14 python3.13 python3.12 python3.11
FITS = 'import sys; sys.exit(sys.version_info < (3, 11))'
VENV = .venv/bin/python
JOBS = auto
ARGS =
MODEL =
COMPLETION_PLUGINS = saghen/blink.cmp@v1.9.1 \
	hrsh7th/nvim-cmp@a1d504892f2bc56c2e79b65c6faded2fd21f3eca \
	hrsh7th/cmp-nvim-lsp@cbc7b02bb99fae35cb42f514762b89b5126651ef \
	echasnovski/mini.completion@b635036d3fe5ea6f4450358a02e376612b628ac4

# A cold import of the model client takes a second longer without bytecode.
unexport PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH PYTHONSAFEPATH

define SET_UP
@for python in $(or $(PYTHON),$(CANDIDATES)); do \
	if "$$python" -c $(FITS) 2>/dev/null; then exec "$$python" -m scripts.setup $(if $(PYTHON),--exactly) $(1); fi; \
done; \
echo "agentchat: no Python 3.11 or newer among: $(or $(PYTHON),$(CANDIDATES)). Install one, or run make PYTHON=/path/to/python3.12" >&2; \
exit 1
endef

.PHONY: help setup runtime demo test quick nightly plugins check format bench clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## build .venv in this checkout; quick when nothing changed
	$(call SET_UP,)

runtime: # what the demo needs of it: no tools for tests and checks
	$(call SET_UP,--runtime)

demo: runtime ## try it on a sample project (without a terminal: play a session); MODEL=smollm2: with a real model
	@$(VENV) -m scripts.demo $(MODEL)

test: setup ## run every test against a real Neovim
	@$(VENV) -m scripts.test $(JOBS) $(ARGS)

quick: setup ## run the tests of the inner loop: all without an editor, and a few with one
	@$(VENV) -m scripts.test $(JOBS) -m 'smoke or not (neovim or slow)' $(ARGS)

nightly: setup ## generated commands, all payloads, storms of keys, a fault at every call to the kernel, a language model
	@AGENTCHAT_GENERATED=$${AGENTCHAT_GENERATED:-30000} AGENTCHAT_STORM=$${AGENTCHAT_STORM:-1000} \
		AGENTCHAT_FAULTS=$${AGENTCHAT_FAULTS:-0} AGENTCHAT_SEED=$${AGENTCHAT_SEED:-$$(date +%Y%m%d)} \
		AGENTCHAT_LANGUAGE_MODEL=1 \
		$(VENV) -m scripts.test $(JOBS) -rP tests/permissions/test_generated.py tests/permissions/test_siblings.py \
		tests/lua/floats/test_storm.py tests/faults tests/models/test_language_model.py \
		tests/models/test_tool_turns.py tests/models/test_text_calls.py \
		tests/models/test_generated_streams.py tests/lua/test_odd_texts.py \
		tests/workspace/overlay/test_attacks.py $(ARGS)

plugins: ## fetch blink.cmp, nvim-cmp and mini.completion into .tools; make test then tests with them
	@for plugin in $(COMPLETION_PLUGINS); do \
		name=$${plugin%@*}; folder=.tools/plugins/$${name#*/}; \
		test -d $$folder || { git init -q $$folder.part && \
			git -C $$folder.part fetch -q --depth 1 https://github.com/$$name $${plugin#*@} && \
			git -C $$folder.part checkout -q FETCH_HEAD && mv $$folder.part $$folder; } || exit; \
	done

check: setup ## format, lint, types, layers, help tags: Python and Lua
	@$(VENV) -m scripts.check

format: setup ## rewrite Python and Lua in the project's format
	@$(VENV) -m scripts.check --fix

bench: setup ## measure what the user can feel, as ratios in one run
	@PYTHONPATH=python3 $(VENV) bench/run.py $(ARGS)

clean: ## remove what the targets above made
	rm -rf .venv .tools .mypy_cache .pytest_cache .ruff_cache .hypothesis doc/tags
	find python3 rplugin scripts tests bench demo -name __pycache__ -type d -prune -exec rm -rf {} +
