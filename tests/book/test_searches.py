"""The protocol's table of searches: what lies at an end of its range is not settled, and every search has a row."""

import re
import tomllib
from pathlib import Path

import pytest

from extensions import cells
from extensions.records import read_in
from extensions.searches import searches, unsettled
from places import ROOT

pytestmark = pytest.mark.book
CHOSEN = tomllib.loads((ROOT / "lab" / "chosen.toml").read_text(encoding="utf8"))
RECORDS = {  # what was measured with the settings of a search, where its name says something else
    "cells-tuning": "cells-over-budget",
    "depth-tuning": "depth-against-width",
    "ladder-rungs-tuning": "ladder-shakespeare",
    "ladder-tuning": "ladder-shakespeare",
    "window-tuning": "loop-against-window",
}
SETTLED_THERE = {"copy-adding-tuning": {"04-vanishing-gradients"}}  # chapters that show none of those that are not


@pytest.mark.parametrize(
    "entry, knobs",
    [
        ({"lies": {"learning_rate": "1 of 4", "forget_bias": "3 of 3"}}, ["learning_rate", "forget_bias"]),
        ({"lies": {"learning_rate": "2 of 4", "forget_bias": "1 of 1"}}, []),
        ({"lies": {"learning_rate": "2 of 3", "dropout": "1 of 2", "num_layers": "2 of 2"}}, []),
        ({"lies": {"learning_rate": "3 of 24"}, "settled": False}, ["learning_rate"]),
        ({"lies": {"learning_rate": "24 of 24"}, "settled": True}, []),
    ],
)
def test_a_best_value_at_an_end_is_not_settled_unless_the_end_is_natural(entry, knobs):
    assert unsettled(entry) == knobs


def test_every_search_has_a_row_with_its_contenders_and_how_many_are_not_settled(html):
    page = (html / "pages" / "protocol.html").read_text(encoding="utf8")
    assert len(searches(ROOT).splitlines()) == 2 + len(CHOSEN)
    for name, entries in CHOSEN.items():
        row = "<" + page[page.rindex(f'record-{name}"') :].partition("</tr>")[0]
        wrong = sum(bool(unsettled(entry)) for entry in entries.values())
        assert re.sub(r"<[^>]+>", " ", row).split()[:3] == [name, str(len(entries)), str(wrong)]


def test_at_the_smaller_budgets_no_longer_training_chose_a_higher_rate():
    rates = {
        (search, label): entry["setting"]["learning_rate"]
        for search in ("cells-tuning", "memory-tuning")
        for label, entry in CHOSEN[search].items()
    }
    pairs = [(label, rate) for label, rate in rates.items() if label[1].endswith(" 2000")]
    assert pairs and all(rate <= rates[search, label.replace(" 2000", " 500")] for (search, label), rate in pairs)


@pytest.mark.parametrize("search", [name for name, entries in CHOSEN.items() if any(map(unsettled, entries.values()))])
def test_a_chapter_that_compares_what_is_not_settled_says_so(search):
    record = RECORDS.get(search, search.removesuffix("-tuning"))
    readers = [path for path in ROOT.glob("chapters/*.ipynb") if record in read_in(path)]
    silent = {path.stem for path in readers if "not settled" not in prose(path)}
    assert readers and silent <= SETTLED_THERE.get(search, set())


def prose(chapter: Path) -> str:
    """Return what a chapter says, white space levelled."""
    return " ".join(" ".join(cell["source"] for cell in cells(chapter) if cell["cell_type"] == "markdown").split())
