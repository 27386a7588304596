"""The audit: every claim has a cell that asserts it, every number of ours is computed, every link leads somewhere."""

import json
import re

import pytest
from myst_parser.mdit_to_docutils.base import default_slugify

import audit_page
from places import ROOT

pytestmark = pytest.mark.book
AUDIT = audit_page.read(ROOT)
CLAIMS, QUESTIONS = AUDIT["claim"], AUDIT["question"]
PAGE = (ROOT / "audit.md").read_text(encoding="utf8")
TESTED = [claim for claim in CLAIMS if claim["verdict"] != audit_page.UNTESTED]
TYPED = re.compile(r"\d\d|\d\.\d")  # a power in a formula is one digit


def typed(text: str) -> list[str]:
    """Return the digits that a text has outside its formulas, and in them those of long or broken numbers."""
    formulas = re.findall(r"\$[^$]*\$", text)
    outside = re.sub(r"\$[^$]*\$", "", text)
    return re.findall(r"\d+", outside) + [number for formula in formulas for number in TYPED.findall(formula)]


def test_the_page_is_up_to_date():
    assert audit_page.page(ROOT) == PAGE, "audit.md is out of date; run: make chapters, or python tools/audit_page.py"


def test_the_sources_are_audited_at_length_and_asked():
    assert len(CLAIMS) >= 80 and len(QUESTIONS) >= 30
    assert {claim["source"] for claim in CLAIMS} == {each["source"] for each in QUESTIONS} == set(AUDIT["sources"])
    assert {claim["verdict"] for claim in CLAIMS} == set(audit_page.VERDICTS)


def test_no_claim_and_no_question_is_there_twice():
    said = [(claim["source"], claim["says"]) for claim in CLAIMS] + [(q["source"], q["asks"]) for q in QUESTIONS]
    assert len(set(said)) == len(said)


def test_every_verdict_rests_on_cells_that_assert_something():
    for claim in TESTED:
        places = [audit_page.find(ROOT, reference) for reference in audit_page.references(claim)]
        assert places, claim
        for notebook, number in places:
            assert audit_page.asserts(audit_page.cells(ROOT / f"{notebook}.ipynb")[number]), f"{notebook}, {claim}"


def test_what_could_not_be_tested_names_no_cell():
    assert all("cell" not in claim for claim in CLAIMS if claim not in TESTED)


def test_no_number_of_ours_is_typed():
    found = {claim["here"]: numbers for claim in CLAIMS if (numbers := typed(claim["here"]))}
    assert not found, "take them from a cell or a record; sizes that belong to the sentence are written in words"


def test_every_link_leads_to_a_heading():
    links = re.findall(r"\]\(((?:chapters|exercises)/[\w-]+)\.ipynb#([^)]+)\)", PAGE)
    named = [reference for claim in CLAIMS for reference in audit_page.references(claim)]
    named += [reference for question in QUESTIONS for reference in question["answers"]]
    assert len(links) > len(CLAIMS)
    anchors = {}
    for notebook in {notebook for notebook, _ in links}:
        cells = json.loads((ROOT / f"{notebook}.ipynb").read_text(encoding="utf8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        titles = re.findall(r"^#{1,3} (.+)$", text, re.MULTILINE)
        anchors[notebook] = [default_slugify(title.strip()) for title in titles]
    for notebook, anchor in links:
        assert anchors[notebook].count(anchor) == 1, f"{notebook}: {anchor}"
    assert {audit_page.find(ROOT, each).notebook for each in named} == set(anchors)


def test_the_counts_are_those_of_the_claims():
    table = dict(re.findall(r"^\| \*(.+)\* \| (\d+) \|", PAGE, re.MULTILINE))
    marked = re.findall(r"\| \[(.+?)\]\{\.verdict\} \|", PAGE)
    assert table == {verdict: str(marked.count(verdict)) for verdict in audit_page.VERDICTS}
    assert PAGE.count("{.question}") == len(QUESTIONS) and len(marked) == len(CLAIMS)


def test_a_cell_of_a_table_is_one():
    texts = [claim[word] for claim in CLAIMS for word in ("says", "section", "here")]
    assert not [text for text in [*texts, *(question["asks"] for question in QUESTIONS)] if "|" in text]


# Proof that the rules can fail


def notebook(*cells: tuple[str, str, str, str]) -> str:
    """Return a notebook of cells: type, name, text, what it printed."""
    made = []
    for kind, name, source, printed in cells:
        output = [{"output_type": "stream", "name": "stdout", "text": printed}] if printed else []
        made.append({"cell_type": kind, "id": name, "source": source, "metadata": {}, "outputs": output})
    return json.dumps({"cells": made})


@pytest.fixture
def root(tmp_path):
    """A book of one chapter."""
    audit_page.cells.cache_clear()
    (tmp_path / "chapters").mkdir()
    cells = [
        ("markdown", "title", "# Sums", ""),
        ("markdown", "part", "## One, and `two`?", ""),
        ("code", "sum", "print(1 + 1)\nassert 1 + 1 == 2", "the sum is -2, of 10000"),
        ("code", "bare", "print('a')\nassert True", "a = 3\n"),
    ]
    (tmp_path / "chapters" / "01-sums.ipynb").write_text(notebook(*cells))
    yield tmp_path
    audit_page.cells.cache_clear()


def claim(**changed) -> dict:
    given = {"says": "one and one are two", "verdict": "right", "here": "{} of {}.", "cell": "01-sums#sum"}
    return given | {"shows": r"is (\S+), of (\d+)"} | changed


def test_a_claim_is_filled_and_linked(root):
    link = "[Chapter 1: One, and `two`?](chapters/01-sums.ipynb#one-and-two)"
    assert audit_page.found_here(root, claim()) == f"−2 of 10,000.<br>{link}"
    named = claim(shows={"sum": r"is (?P<b>\S+), of (?P<a>\d+)", "bare": r"a = (\d)"}, here="{}, {}, {}")
    assert audit_page.found_here(root, named) == f"10,000, −2, 3<br>{link}"
    told = {"verdict": audit_page.UNTESTED, "here": "It takes a GPU.", "says": "", "source": ""}
    assert audit_page.found_here(root, told) == "It takes a GPU."


def test_a_cell_belongs_to_the_heading_above_it_or_to_its_own_first(root):
    cells = [("markdown", "a", "## One\n\n### Two", ""), ("markdown", "b", "text", ""), ("code", "c", "1", "")]
    (root / "chapters" / "02-heads.ipynb").write_text(notebook(*cells))
    titles = [audit_page.heading(root, audit_page.find(root, f"02-heads#{name}")) for name in "abc"]
    assert titles == ["One", "Two", "Two"]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"cell": "01-sums#none"}, "no such cell"),
        ({"cell": "02-none#sum"}, "no such cell"),
        ({"cell": "01-sums#bare", "shows": {}, "here": "Yes."}, "asserts nothing"),
        ({"cell": ["01-sums#sum", "01-sums#part"]}, "asserts nothing"),
        ({"cell": []}, "one of"),
        ({"verdict": "true"}, "one of"),
        ({"verdict": audit_page.UNTESTED}, "one of"),
        ({"shows": r"is (\d+) exactly"}, "is not in what"),
        ({"here": "{}."}, "has not the places"),
        ({"here": "{} of {} or {}."}, "has not the places"),
        ({"record": ["gradient-lag/tanh/slope"]}, "a number for each seed"),
        ({"record": ["stories-chars/gru/no"]}, "no"),
    ],
)
def test_a_claim_without_its_ground_is_refused(root, changed, complaint):
    with pytest.raises((ValueError, KeyError), match=complaint):
        audit_page.found_here(root, claim(**changed))


@pytest.mark.parametrize(
    ("printed", "written"),
    [
        *(("0.95", "0.95"), ("1,050,624", "1,050,624"), ("16382", "16,382"), ("-0.003 ± 0.001", "−0.003 ± 0.001")),
        *(("2.656e-05", r"$2.656 \cdot 10^{-5}$"), ("1.378e+04", r"$1.378 \cdot 10^{4}$"), ("10^-14", "$10^{-14}$")),
    ],
)
def test_a_printed_number_is_written_as_in_a_text(printed, written):
    assert audit_page.legible(printed) == written


def test_a_record_gives_mean_and_spread():
    assert re.fullmatch(r"0\.\d{3} ± 0\.\d{3}", audit_page.recorded("gradient-lag/tanh/slope[0]", 3))


@pytest.mark.parametrize("text", ["It is 3.", "of $0.99$", "$10^{38}$", "in 32 bits"])
def test_a_typed_number_is_found(text):
    assert typed(text)


def test_a_formula_is_no_number():
    assert typed("It grows as $n^2 + 4h$, {} of it.") == []
