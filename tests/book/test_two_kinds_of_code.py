"""Two kinds of code on a page: what carries an idea is shown, all else is folded under a one-line summary."""

import ast
import copy
import json
import re

import pytest

import minutes
from places import ROOT

pytestmark = pytest.mark.book

CHAPTERS = sorted(ROOT.glob("chapters/*.ipynb"))
FOLDED, EXCEPTION = "hide-input", "figure-is-the-idea"
CHARTS = r"(line|dot|bar|scatter|pie)[ -]?(chart|plot)s?|heat ?maps?|histograms?|charts?|diagrams?|plots?|figures?"
QUANTITIES = r"nats per|bits per|norms? of|shares? of|mean|median|number of|loss of|time of|how (often|far|much|many)"
OPENINGS = re.compile(rf"(an? |the |two |three )?({CHARTS}|{QUANTITIES}|the same|what is left|left|right)\b", re.I)


def text(cell: dict) -> str:
    return "".join(cell["source"])


def code(notebook: dict) -> list[dict]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def has(cell: dict, tag: str) -> bool:
    return tag in cell["metadata"].get("tags", [])


def reads_or_draws(cell: dict) -> bool:
    """Say whether a cell reads a record or saves a figure."""
    calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(text(cell))) if isinstance(node, ast.Call)]
    return any(call in ("plots.save", "records.load") for call in calls)


# Each rule yields what is wrong with a notebook, and nothing where all is well.


def reading_and_drawing_are_folded(notebook):
    exceptions = 0
    for number, cell in enumerate(code(notebook), start=1):
        exceptions += has(cell, EXCEPTION)
        if has(cell, EXCEPTION) and (has(cell, FOLDED) or not reads_or_draws(cell)):
            yield f"code cell {number} is folded or draws no figure; drop its tag {EXCEPTION}"
        if reads_or_draws(cell) and not has(cell, FOLDED) and not has(cell, EXCEPTION):
            yield f"code cell {number} reads a record or draws a figure: tag it {FOLDED}, with a summary"
    if exceptions > 3:
        yield f"{exceptions} cells are tagged {EXCEPTION}; at most 3"


def preparations_are_folded(notebook):
    for number, cell in enumerate(code(notebook), start=1):
        imports = [isinstance(node, ast.Import | ast.ImportFrom) for node in ast.parse(text(cell)).body]
        if any(imports) and not has(cell, FOLDED):
            yield f"code cell {number} installs or imports: tag it {FOLDED}, with a summary"


def little_code_is_shown(notebook):
    if minutes.shown_lines(notebook) > 120:
        yield f"{minutes.shown_lines(notebook)} lines of code are shown; at most 120: fold what carries no idea"


def folds_say_what_they_hold(notebook):
    for number, cell in enumerate(code(notebook), start=1):
        summary = cell["metadata"].get("mystnb", {}).get("code_prompt_show")
        if has(cell, FOLDED) != (summary is not None):
            yield f"code cell {number}: the tag {FOLDED} and mystnb.code_prompt_show go together"
        elif summary is not None and not re.fullmatch(r"[A-Z][^\n]{5,48}[^\n.:]", summary):
            yield f"code cell {number}: {summary!r} should be one line of 7 to 50 characters without a full stop"


def captions_begin_with_the_message(notebook):
    for cell in code(notebook):
        figure = cell["metadata"].get("mystnb", {}).get("figure", {})
        caption = figure.get("caption")
        if caption is None:
            continue
        if opening := OPENINGS.match(caption):
            yield f"{figure['name']}: the caption begins with {opening[0]!r}, not with what the figure says"
        if len(re.split(r"(?<=[.?!]) (?=[A-Z0-9])", caption)) < 2:
            yield f"{figure['name']}: the caption has one sentence; first comes the message, then what is drawn"


RULES = (
    reading_and_drawing_are_folded,
    preparations_are_folded,
    little_code_is_shown,
    folds_say_what_they_hold,
    captions_begin_with_the_message,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_keeps_the_rule(chapter, rule):
    problems = list(rule(json.loads(chapter.read_text(encoding="utf8"))))
    assert not problems, "\n".join(problems)


# Proof that the rules can fail


def cell(source: str, summary: str | None = None, *tags: str, caption: str | None = None) -> dict:
    metadata = {"tags": [*tags, FOLDED], "mystnb": {"code_prompt_show": summary}} if summary else {"tags": [*tags]}
    if caption:
        metadata.setdefault("mystnb", {})["figure"] = {"caption": caption, "name": "fig-name"}
    return {"cell_type": "code", "source": source, "metadata": metadata}


def specimen() -> dict:
    """Return a notebook that keeps every rule."""
    caption = "It falls. One thing against another."
    cells = [cell("import torch", "Imports"), cell("x = 1\n\n" * 119)]
    cells += [cell("plots.save(fig, 'a')", "How this figure is made", caption=caption)]
    cells += [cell("record = records.load('b')", "How this table is made and checked")]
    cells += [cell("plots.save(fig, 'c')", None, EXCEPTION, caption=caption)]
    return {"cells": cells}


def summed_up(summary):
    return lambda cells: cells[2]["metadata"]["mystnb"].update(code_prompt_show=summary)


def captioned(caption):
    return lambda cells: cells[2]["metadata"]["mystnb"]["figure"].update(caption=caption)


BREACHES = {
    "a figure in view": (reading_and_drawing_are_folded, lambda cells: cells[2]["metadata"].update(tags=[])),
    "a record in view": (reading_and_drawing_are_folded, lambda cells: cells[3]["metadata"].update(tags=[])),
    "four exceptions": (reading_and_drawing_are_folded, lambda cells: cells.extend(copy.deepcopy(cells[-1:] * 3))),
    "an idle exception": (reading_and_drawing_are_folded, lambda cells: cells[4].update(source="x = 1")),
    "a folded exception": (reading_and_drawing_are_folded, lambda cells: cells[4]["metadata"]["tags"].append(FOLDED)),
    "imports in view": (preparations_are_folded, lambda cells: cells[0]["metadata"].update(tags=[])),
    "two lines more": (little_code_is_shown, lambda cells: cells[1].update(source="x = 1\n" * 121)),
    "no summary": (folds_say_what_they_hold, lambda cells: cells[2]["metadata"]["mystnb"].pop("code_prompt_show")),
    "a summary in view": (folds_say_what_they_hold, lambda cells: cells[2]["metadata"].update(tags=[])),
    "an empty summary": (folds_say_what_they_hold, summed_up("")),
    "two lines": (folds_say_what_they_hold, summed_up("How this figure\nis made")),
    "a long summary": (folds_say_what_they_hold, summed_up("How this figure is made " * 3)),
    "a kind of chart": (captions_begin_with_the_message, captioned("Line chart of one thing. It falls.")),
    "two charts": (captions_begin_with_the_message, captioned("Two line charts. It falls.")),
    "a place": (captions_begin_with_the_message, captioned("Left: one thing. It falls.")),
    "the same": (captions_begin_with_the_message, captioned("The same for another thing. It falls.")),
    "an axis": (captions_begin_with_the_message, captioned("Nats per character against updates. It falls.")),
    "one sentence": (captions_begin_with_the_message, captioned("It falls from 0.9 to 0.1.")),
}


def test_a_notebook_that_keeps_every_rule_passes():
    assert [problem for rule in RULES for problem in rule(specimen())] == []
    assert {rule for rule, _ in BREACHES.values()} == set(RULES)


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_caught(breach):
    rule, plant = BREACHES[breach]
    notebook = specimen()
    plant(notebook["cells"])
    assert list(rule(notebook)), f"{rule.__name__} does not notice: {breach}"
