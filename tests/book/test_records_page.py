"""The page of all records: what each measures, where it is read, and what ran on a GPU."""

import copy
import json
import re
from types import SimpleNamespace

import nbformat
import pytest

import book
from extensions import records
from places import ROOT
from unrolled.records import load, names

pytestmark = pytest.mark.book
CHAPTERS = sorted(ROOT.glob("chapters/*.ipynb"))


def test_every_record_has_its_place_and_a_displayed_provenance_leads_there(html):
    page = (html / "pages" / "records.html").read_text(encoding="utf8")
    places = re.findall(r'id="record-([\w-]+)"', page)
    assert places == names() and 'id="measured-on-a-gpu"' in page
    link = re.search(r'href="\.\./([^"#]+)#record-([^"]+)"', load(places[0]).provenance()._repr_html_())
    assert link.groups() == ("pages/records.html", places[0])
    assert "pages/records" in book.pages(book.contents(student=True))


class Coin(SimpleNamespace):
    """A record of two coins."""

    title, contenders = "Toss <coins>", {"fair": 0, "bent": 0}
    metrics = {"heads": ("throws", "how often of_two *it* fell", ("round", "coin")), "name": ("", "a word", ())}

    def provenance(self):
        return SimpleNamespace(text="1 seed, 0 s")

    def circumstances(self, what):
        return f"the {what}"


def test_a_row_says_what_is_known_and_what_is_missing():
    row = records.entry("coin", Coin(missing=["fair (seed 1)"]), CHAPTERS[:1])
    assert row.startswith("* - [`coin`]{#record-coin}\n  - Toss \\<coins\\>\n\n    <details>")
    assert "\n    - Contenders: `fair`, `bent`\n    - Library: the versions; commit the commit\n" in row
    assert "\n    - Missing: fair (seed 1)\n    - Command: `python -m lab run coin --record`\n" in row
    assert "\n    - `heads`, by `round` and `coin`, in throws: how often of\\_two \\*it\\* fell\n" in row
    assert "\n    - `name`: a word\n" in row
    assert row.endswith(f"\n  - [1](../chapters/{CHAPTERS[0].name})\n  - 1 seed, 0 s")
    whole = records.entry("coin", Coin(missing=[]), [])
    assert "- Missing" not in whole and "](../chapters" not in whole


def test_a_record_is_read_where_it_is_named_or_shown(tmp_path):
    shown = [nbformat.v4.new_output("display_data", {"text/html": '<a href="../pages/records.html#record-dice">'})]
    cells = [
        nbformat.v4.new_code_cell('load("coin")["fair"]\nload(f"cards{kind}")\nprint("lots")'),
        nbformat.v4.new_code_cell("for name in names:\n    load(name)", outputs=shown),
        nbformat.v4.new_markdown_cell('as `load("wheel")` does'),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "01-test.ipynb")
    assert records.read_in(tmp_path / "01-test.ipynb") == {"coin", "cards*", "dice"}


def test_what_ran_on_a_gpu_is_a_table_and_what_did_not_is_named(tmp_path):
    assert "`make gpu`" in records.on_gpu(tmp_path)
    name, others = f"chapters/{CHAPTERS[0].stem}", f"solutions/{CHAPTERS[0].stem}"
    ran = {"outcome": "a | b", "seconds": 9, "hardware": "H", "versions": "torch 2", "commit": "abc", "date": "today"}
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "gpu.json").write_text(json.dumps({name: ran}))
    made = records.on_gpu(tmp_path)
    assert f"\n| {name} | a \\| b | 9 s | H | torch 2; commit abc, today |\n" in made
    missing = re.search(r"\nNot run yet: (.*)\.\n", made)[1].split(", ")
    assert missing[0] == others and name not in missing and len(missing) == 2 * len(CHAPTERS) - 1


# What stands beside a figure


def output(**data: str) -> dict:
    named = {name.replace("_", "/"): value for name, value in data.items()}
    return nbformat.v4.new_output("display_data", data=named)


def test_a_line_beside_a_figure_has_a_cell_of_its_own():
    picture, line = output(image_png="", text_plain="Figure"), output(text_html="<p>", text_plain="Record")
    printed = nbformat.v4.new_output("stream", name="stdout", text="1")
    figure = {"mystnb": {"figure": {"name": "fig-a"}}}
    cells = [
        nbformat.v4.new_code_cell("a", outputs=[picture, printed, line], metadata=figure),
        nbformat.v4.new_code_cell("b", outputs=[printed, line]),
        nbformat.v4.new_code_cell("c", outputs=[picture], metadata=figure),
    ]
    first, second = (book.beside_figures(nbformat.v4.new_notebook(cells=copy.deepcopy(cells))) for _ in range(2))
    assert [cell.outputs for cell in first.cells] == [[picture, printed], [line], [printed, line], [picture]]
    assert first.cells[1].metadata.tags == ["remove-input"] and first.cells[1].source.strip()
    assert first == second  # pages are built again only where something has changed
    nbformat.validate(first)
