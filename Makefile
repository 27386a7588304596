# The one place for commands. `make` alone lists them.

# The Python to make .venv with: the one .venv has, else python3 where it is recent enough, else the newest that is.
SUITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for python in $$(sed -n 's/^executable = //p' .venv/pyvenv.cfg 2>/dev/null) \
	python3 python3.13 python3.12 python3.11; do \
	if $$python -c '$(SUITS)' >/dev/null 2>&1; then echo $$python; exit; fi; done; echo python3)

# One thread: small networks gain little from two, and lose much where the machine has other work. The digits of live
# trainings depend on it, too.
export OMP_NUM_THREADS ?= 1
export MPLCONFIGDIR ?= $(CURDIR)/_build/matplotlib

RUN := .venv/bin/python
NOTEBOOKS := $(RUN) tools/notebooks.py
PYTEST := $(RUN) -m pytest -p no:cacheprovider
# Every chapter runs once and is compared with what it has stored, two at a time, the first two take longest. What
# they draw lies in _build/drawn afterwards, for the pages and for the tests of figures.
NBVAL := ls chapters/*.ipynb | xargs -P 2 -I CHAPTER sh -c 'export UNROLLED_FIGURES=$(CURDIR)/_build/drawn/`basename CHAPTER .ipynb`; \
	report=`$(PYTEST) --quiet --nbval --nbval-current-env --nbval-cell-timeout=600 CHAPTER 2>&1`; \
	status=$$?; if [ $$status = 0 ]; then echo "CHAPTER `echo "$$report" | tail -n 1`"; else echo "$$report"; fi; exit $$status'
SPREAD := --numprocesses logical --maxprocesses 4 --dist worksteal
CHROMIUM ?= chromium
LINT := $(RUN) -m ruff check --quiet --no-cache --output-format=concise .
FORMAT := $(RUN) -m ruff format --quiet --no-cache --check lib lab tests tools benchmarks chapters solutions
# Biome, which npm fetches once, at the version that its settings name.
BIOME := npx --yes @biomejs/biome@$(shell sed -n 's|.*/schemas/\([0-9.]*\)/.*|\1|p' tools/lint_scripts.json)
LINT_JS := if $(BIOME) --version >/dev/null 2>&1; then $(BIOME) check --error-on-warnings --config-path=tools/lint_scripts.json; \
	else echo 'The scripts are not linted: npm is not installed, or cannot fetch Biome.'; test -z "$$UNROLLED_STRICT"; fi
.PHONY: help environment book html pdf chapters exercises records playground check test bench compat claims gpu address clean

# $(call stage,NAME,COMMAND) runs a stage of `make test`, which must succeed and change no file of the project.
state = { git status --porcelain; git diff HEAD; } 2>/dev/null | cksum
define stage
@echo '== $(1)'; before=$$($(state)); $(2) || exit; test "$$before" = "$$($(state))" || \
	{ echo "FAILED: '$(1)' changed the project's own files; git status shows which"; exit 1; }
endef

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { name[++n] = $$1; text[n] = $$2; if (length($$1) > width) width = length($$1) } \
		END { for (i = 1; i <= n; i++) printf "make %-" width "s  %s\n", name[i], text[i] }' Makefile

book: environment  ## install what is missing, execute the chapters that changed, build _build/html (STUDENT=1: no solutions)
	@$(RUN) tools/book.py $(if $(STUDENT),--student)

html: environment  ## the pages from the stored outputs, nothing executed: a quick look
	@$(RUN) tools/book.py --stored $(if $(STUDENT),--student)

pdf: book  ## print the chapters as one file with Chromium, _build/unrolled.pdf: some minutes
	@rm -rf _build/pdf; mkdir _build/pdf; for page in _build/html/chapters/*.html; do echo "Printing $$page"; \
		$(CHROMIUM) --headless --no-sandbox --disable-gpu --virtual-time-budget=60000 --no-pdf-header-footer \
		--print-to-pdf=_build/pdf/`basename $$page .html`.pdf $$page 2>/dev/null || exit; done
	@$(RUN) -c 'import glob; from pypdf import PdfWriter; pdf = PdfWriter(); \
		[pdf.append(name, name[11:-4]) for name in sorted(glob.glob("_build/pdf/*.pdf"))]; pdf.write("_build/unrolled.pdf")'

chapters: environment  ## re-run the chapters in place, store their outputs, refresh figures/ (CHAPTER=02: one)
	@$(NOTEBOOKS) store $(CHAPTER)

exercises: environment  ## generate exercises/ from solutions/
	@$(RUN) tools/exercises.py

records: environment  ## measure the records that are missing or stale (NAME=rnn-windows: one experiment)
	@$(RUN) -m lab records $(NAME)

playground: environment  ## train what is missing of the page's networks, write their weights and the page's pictures
	@$(RUN) tools/demonstrations.py

check: environment  ## lint, test the library: for the working day, about two minutes
	@$(LINT)
	@$(FORMAT)
	@$(LINT_JS)
	@$(PYTEST) tests -m 'not book' --quiet $(SPREAD)

test: environment  ## lint, build the book, test library, chapters and pages
	$(call stage,lint,$(LINT))
	$(call stage,format,$(FORMAT))
	$(call stage,scripts,$(LINT_JS))
	$(call stage,chapters,$(NBVAL))
	$(call stage,book,$(RUN) tools/book.py --stored)
	$(call stage,tests,$(PYTEST) tests --durations=10 $(SPREAD))

bench: environment  ## time the library against its peers
	@$(RUN) benchmarks/speed.py

compat: environment  ## other Pythons, packages, processors; all graded (PART=tests|newest|processors|colab|grading: one)
	@$(RUN) -m nox --noxfile tests/noxfile.py $(PART:%=--session %)

claims: environment  ## every chapter's asserts under five fresh seeds (CHAPTER=02: one)
	@$(NOTEBOOKS) claims $(CHAPTER)

gpu: environment  ## on a GPU: experiments that need one, chapters at full size, solutions; goes on where it stopped
	@UNROLLED_DEVICE=cuda $(RUN) -m lab records
	@$(NOTEBOOKS) gpu $(CHAPTER)

address:  ## put address and version where they stand (URL=https://github.com/you/unrolled: another address)
	@$(PYTHON) tools/address.py $(if $(URL),"$(URL)")

clean:  ## remove all that was built or installed
	rm -rf _build .venv lib/*.egg-info

environment:
	@$(PYTHON) tools/environment.py
