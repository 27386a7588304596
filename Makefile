# The one place for commands. `make` alone lists them.

# The Python to make .venv with: the one .venv has, else python3 where it is recent enough, else the newest that is.
SUITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for python in $$(sed -n 's/^executable = //p' .venv/pyvenv.cfg 2>/dev/null) \
	python3 python3.13 python3.12 python3.11; do \
	if $$python -c '$(SUITS)' >/dev/null 2>&1; then echo $$python; exit; fi; done; echo python3)

RUN := .venv/bin/python
.PHONY: help environment book html chapters exercises test bench compat claims address clean

help:  ## list these commands
	@sed -n 's/^\([a-z]*\):.*## */\1	/p' Makefile | awk -F '\t' '{ printf "make %-10s %s\n", $$1, $$2 }'

book: environment  ## install what is missing, execute the chapters that changed, build _build/html (STUDENT=1: no solutions)
	@$(RUN) tools/book.py $(if $(STUDENT),--student)

html: environment  ## the pages from the stored outputs, nothing executed: a quick look
	@$(RUN) tools/book.py --stored $(if $(STUDENT),--student)

chapters: environment  ## re-run the chapters in place, store their outputs, refresh figures/ (CHAPTER=02: one)
	@$(RUN) tools/chapters.py $(CHAPTER)

exercises: environment  ## generate exercises/ from solutions/
	@$(RUN) tools/exercises.py

test: environment  ## lint, build the book, test library, chapters and pages
	@$(RUN) tools/check.py

bench: environment  ## time the library against its peers
	@$(RUN) benchmarks/run.py

compat: environment  ## other Pythons, newest packages, Colab's, every exercise graded (PART=pythons|newest|colab|grading: one)
	@$(RUN) tools/compat.py $(PART)

claims: environment  ## every chapter's asserts under five fresh seeds, one and two threads (CHAPTER=02: one)
	@$(RUN) tools/claims.py $(CHAPTER)

address:  ## tell the book where it lives: make address URL=https://github.com/you/unrolled
	@$(PYTHON) tools/address.py "$(URL)"

clean:  ## remove all that was built or installed
	rm -rf _build .venv lib/*.egg-info

environment:
	@$(PYTHON) tools/environment.py
