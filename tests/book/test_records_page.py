"""The page of all records: made from the experiments, the records and the chapters, and up to date."""

import copy
import json
import re

import nbformat
import pytest

import book
import gallery
import record_page
from places import ROOT
from unrolled import experiments
from unrolled.experiments import Experiment, Metric, records

pytestmark = pytest.mark.book
CHAPTERS = sorted(ROOT.glob("chapters/*.ipynb"))
PAGE = (ROOT / "records.md").read_text(encoding="utf8")


def test_the_page_is_up_to_date():
    stale = "records.md is out of date; run: make chapters, or make records"
    assert record_page.page(ROOT) == PAGE, stale


def test_every_record_has_its_place_in_the_order_of_the_catalogue():
    assert re.findall(r"^\(record-(.+)\)=\n## (.+)$", PAGE, re.MULTILINE) == [(n, n) for n in experiments.EXPERIMENTS]


def test_a_displayed_provenance_leads_to_the_records_place():
    name = next(iter(experiments.EXPERIMENTS))
    link = re.search(r'href="\.\./([^"#]+)\.html#([^"]+)"', experiments.recorded(name).provenance()._repr_html_())
    assert (ROOT / f"{link[1]}.md").is_file() and f"\n({link[2]})=\n" in PAGE
    assert link[1] in book.pages(book.contents(student=True))


def test_its_figures_are_in_the_chapters():
    labels = {figure.label: figure.name for path in CHAPTERS for figure in gallery.figures(path)}
    linked = re.findall(r"\[([\w-]+)\]\(#([\w-]+)\)", PAGE)
    assert len(linked) > 20 and all(labels[label] == name for name, label in linked)
    shown = re.findall(r"^```\{image\} (.*)$", PAGE, re.MULTILINE)
    assert len(shown) > 15 and all((ROOT / name).is_file() for name in shown)


@pytest.fixture
def coin(monkeypatch, tmp_path):
    """An experiment that tosses two coins twice, and no records but its own."""
    contenders = {"quick": {"fair": {"sides": 2}, "loaded": {"sides": 6}}}
    metrics = {"heads": Metric("throws", "how often of_two *it* fell", ("round", "coin")), "name": Metric("", "a word")}
    coin = Experiment("coin", "Toss <coins>", metrics, contenders, lambda *_: {"name": "a"}, seeds=2)
    monkeypatch.setitem(experiments.EXPERIMENTS, "coin", coin)
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    return coin


def test_an_entry_says_what_is_known_and_what_is_missing(coin, tmp_path):
    use = record_page.Use(CHAPTERS[:1], list(gallery.figures(CHAPTERS[0]))[:2])
    empty = record_page.entry(coin, record_page.Use([], []))
    assert "\n- Missing: everything: it has not been measured yet\n" in empty
    assert "image" not in empty and "- Read in" not in empty and "- Measured" not in empty
    experiments.run("coin", seeds=[0], folder=tmp_path, contenders=["fair"], record=True)
    entry = record_page.entry(coin, use)
    assert entry.startswith("\n(record-coin)=\n## coin\n\nToss \\<coins\\>.\n")
    assert "\n- Contenders: `fair`, `loaded`\n- Measured: quick, 1 seed, 0 s on " in entry
    assert re.search(r"\n- Library: Python .*, torch .*; commit \S+, configuration \w{16}\n", entry)
    assert "\n- Missing: `fair` (seed 1), `loaded` (seed 0), `loaded` (seed 1)\n" in entry
    assert "\n- Command: `python -m unrolled run coin --profile quick --record`\n" in entry
    assert f"\n- Read in: [{gallery.title(CHAPTERS[0])}](chapters/{CHAPTERS[0].name})\n" in entry
    assert entry.count("```{image}") == 1 and all(
        f"[{figure.name}](#{figure.label})" in entry for figure in use.figures
    )
    assert (
        "`heads`, by `round` and `coin`, in throws\n: how often of\\_two \\*it\\* fell\n\n`name`\n: a word\n:::"
        in entry
    )
    experiments.run("coin", folder=tmp_path, record=True)
    assert "- Missing" not in record_page.entry(coin, use)


def test_a_record_is_read_where_code_names_it(tmp_path):
    cells = [{"cell_type": "code", "source": source, "metadata": {}} for source in ('read("coin")', "print(coin)")]
    path = tmp_path / "01-test.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    assert record_page.use("coin", [path]) == ([path], []) and record_page.use("dice", [path]) == ([], [])


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
