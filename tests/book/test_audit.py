"""The audit: every claim has a cell that asserts it, every number of ours is computed, every link leads somewhere."""

import json
import re

import pytest
from bs4 import BeautifulSoup

from extensions import audit
from places import ROOT

pytestmark = pytest.mark.book
AUDIT = audit.read(ROOT)
CLAIMS, QUESTIONS = AUDIT["claim"], AUDIT["question"]
TYPED = re.compile(r"\d\d|\d\.\d")  # a power in a formula is one digit


def typed(text: str) -> list[str]:
    """Return the digits that a text has outside its formulas, and in them those of long or broken numbers."""
    formulas = re.findall(r"\$[^$]*\$", text)
    outside = re.sub(r"\$[^$]*\$", "", text)
    return re.findall(r"\d+", outside) + [number for formula in formulas for number in TYPED.findall(formula)]


def test_the_sources_are_audited_at_length_and_asked():
    assert len(CLAIMS) >= 80 and len(QUESTIONS) >= 30
    assert {claim["source"] for claim in CLAIMS} == {each["source"] for each in QUESTIONS} == set(AUDIT["sources"])
    assert {claim["verdict"] for claim in CLAIMS} == set(audit.VERDICTS)
    texts = [(claim["source"], claim["says"]) for claim in CLAIMS] + [(q["source"], q["asks"]) for q in QUESTIONS]
    assert len(set(texts)) == len(texts), "a claim or a question is there twice"


def test_no_number_of_ours_is_typed():
    numbers = {claim["here"]: digits for claim in CLAIMS if (digits := typed(claim["here"]))}
    assert not numbers, "take them from a cell or a record; sizes that belong to the sentence are written in words"


def test_what_the_chapters_have_stored_fills_every_claim():
    assert all(audit.outcome(ROOT, claim) for claim in CLAIMS)  # a build would find it too, minutes later


def test_the_page_has_every_claim_and_question_and_each_leads_to_one_heading(html):
    page = BeautifulSoup((html / "pages" / "audit.html").read_text("utf8"), "html.parser").article
    marks = [mark.get_text() for mark in page.select("table .verdict")]
    counts = {row.em.get_text(): int(row.select("td")[1].get_text()) for row in page.table.select("tbody tr")}
    assert counts == {verdict: marks.count(verdict) for verdict in audit.VERDICTS}
    assert [option.get_text() for option in page.select(".audit-filter option")] == ["all", *audit.VERDICTS]
    assert (len(marks), len(page.select(".question"))) == (len(CLAIMS), len(QUESTIONS))
    links = {link["href"] for link in page.select("td a.internal[href*='.html#']")}
    notebooks = {link.partition("#")[0] for link in links}
    assert len(links) > 100 and len(notebooks) > len(list(ROOT.glob("chapters/*.ipynb")))
    for notebook in notebooks:
        text = (html / "pages" / notebook).read_text("utf8")
        ends = {link.partition("#")[2] for link in links if link.startswith(f"{notebook}#")}
        assert {end for end in ends if text.count(f'id="{end}"') != 1} == set(), notebook


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
    (tmp_path / "chapters").mkdir()
    cells = [
        ("markdown", "title", "# Sums", ""),
        ("markdown", "part", "## One, and `two`?\n\n### Three", ""),
        ("markdown", "text", "Text.", ""),
        ("code", "sum", "print(1 + 1)\nassert 1 + 1 == 2", "the sum is -2, of 10000"),
        ("code", "bare", "print('a')\nassert True", "a = 3\n"),
    ]
    (tmp_path / "chapters" / "01-sums.ipynb").write_text(notebook(*cells))
    return tmp_path


def claim(**changed) -> dict:
    given = {"says": "one and one are two", "verdict": "right", "here": "{} of {}.", "cell": ["01-sums#sum"]}
    return given | {"shows": r"is (\S+), of (\d+)"} | changed


def test_a_claim_is_filled_and_linked(root):
    link = "[Chapter 1: Three](../chapters/01-sums.ipynb#three)"
    assert audit.outcome(root, claim()) == f"−2 of 10,000.<br>{link}"
    named = claim(shows={"sum": r"is (?P<b>\S+), of (?P<a>\d+)", "bare": r"a = (\d)"}, here="{}, {}, {}")
    assert audit.outcome(root, named) == f"10,000, −2, 3<br>{link}"
    untested = {"verdict": audit.UNTESTED, "here": "It takes a GPU.", "says": "", "source": ""}
    assert audit.outcome(root, untested) == "It takes a GPU."


def test_a_cell_belongs_to_the_heading_above_it_or_to_its_own_first(root):
    titles = [audit.heading(audit.find(root, f"01-sums#{name}")[1]) for name in ("title", "part", "text", "sum")]
    assert titles == ["Sums", "One, and `two`?", "Three", "Three"]
    assert audit.link(*audit.find(root, "01-sums#part")).endswith("(../chapters/01-sums.ipynb#one-and-two)")


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"cell": ["01-sums#none"]}, "no such cell"),
        ({"cell": ["02-none#sum"]}, "no such cell"),
        ({"cell": ["01-sums#bare"], "shows": {}, "here": "Yes."}, "asserts nothing"),
        ({"cell": ["01-sums#sum", "01-sums#part"]}, "asserts nothing"),
        ({"cell": []}, "one of"),
        ({"verdict": "true"}, "one of"),
        ({"verdict": audit.UNTESTED}, "one of"),
        ({"shows": r"is (\d+) exactly"}, "is not in what"),
        ({"here": "{}."}, "has not the places"),
        ({"record": ["gradient-lag/tanh/slope"]}, "a number for each seed"),
    ],
)
def test_a_claim_without_its_ground_is_refused(root, changed, complaint):
    with pytest.raises(ValueError, match=complaint):
        audit.outcome(root, claim(**changed))


@pytest.mark.parametrize(
    ("printed", "written"),
    [
        *(("0.95", "0.95"), ("1,050,624", "1,050,624"), ("16382", "16,382"), ("-0.003 ± 0.001", "−0.003 ± 0.001")),
        *(("2.656e-05", r"$2.656 \cdot 10^{-5}$"), ("10^-14", "$10^{-14}$")),
    ],
)
def test_a_printed_number_is_written_as_in_a_text(printed, written):
    assert audit.legible(printed) == written


def test_a_record_gives_mean_and_spread():
    assert re.fullmatch(r"0\.\d{3} ± 0\.\d{3}", audit.recorded("gradient-lag/tanh/slope[0]", 3))


def test_a_typed_number_is_found():
    assert all(typed(text) for text in ("It is 3.", "of $0.99$", "$10^{38}$"))
    assert typed("It grows as $n^2 + 4h$, {} of it.") == []
