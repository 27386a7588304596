"""The tables that close chapters agree with one another: what they say of a cell is what one record says."""

import json

import pytest
from bs4 import BeautifulSoup

from places import ROOT
from unrolled import records

pytestmark = pytest.mark.book
CELLS = {  # of each chapter, the cells of the spine by the names that its closing table has for them
    "04-vanishing-gradients": {"tanh, orthogonal": "tanh", "ReLU, orthogonal": "orthogonal relu", "IRNN": "irnn"},
    "05-lstm": {"tanh": "tanh", "IRNN": "irnn", "LSTM of 1997": "lstm-1997", "LSTM": "lstm"},
    "06-gru": {"RNN, tanh": "tanh", "GRU": "gru", "LSTM": "lstm"},
}
TASKS = {"adds": "adding", "overwrites": "flip-flop"}


def closing(chapter: str) -> dict[str, dict[str, str]]:
    """Return the table that a chapter ends with, as it is stored: by row and column what is written there."""
    notebook = json.loads((ROOT / "chapters" / f"{chapter}.ipynb").read_text("utf8"))
    (cell,) = (cell for cell in notebook["cells"] if cell["id"] == "what-we-know")
    table = BeautifulSoup("".join(cell["outputs"][0]["data"]["text/html"]), "html.parser")
    columns = [str(head.contents[0]).strip().partition(",")[0] for head in table.select("thead th")]
    return {
        row.th.get_text(): dict(zip(columns, (entry.get_text() for entry in row.select("td")), strict=True))
        for row in table.select("tbody tr")
    }


@pytest.mark.parametrize("chapter", CELLS)
def test_a_closing_table_says_of_a_cell_what_the_spine_does(chapter):
    table = closing(chapter)
    spine = {label: of[label] for of in map(records.load, ("success-by-lag", "success-beyond")) for label in of}
    for label, name in CELLS[chapter].items():
        for column, task in TASKS.items():
            runs = {lag: spine.get(f"{task} {lag}: {name}") for lag in (20, 50, 100, 200)}
            done = [lag for lag, run in runs.items() if run and run["success"].all()]
            assert table[label][column] == (str(max(done)) if done else "none"), (label, column)
