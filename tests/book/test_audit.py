"""The audit: every claim has a cell that asserts it, every number of ours is computed, every link leads somewhere."""

import re

import pytest

from extensions import audit, cells
from places import ROOT

pytestmark = pytest.mark.book
AUDIT = audit.read(ROOT)
CLAIMS = AUDIT["claim"]
FIRST = cells(ROOT / "chapters" / "01-language-models.ipynb")
BARE = next(f"01-language-models#{c['id']}" for c in FIRST if c["cell_type"] == "code" and "assert" not in c["source"])
GOOD = next(claim for claim in CLAIMS if isinstance(claim.get("shows"), str))


def test_no_number_of_ours_is_typed():
    for claim in CLAIMS:  # sizes that belong to the sentence are written in words; a power in a formula is one digit
        outside = re.sub(r"\$[^$]*\$", "", claim["here"])
        assert not re.findall(r"\d", outside), claim["here"]
        assert not re.findall(r"\d\d|\d\.\d", claim["here"]), claim["here"]


def test_what_the_chapters_have_stored_fills_every_claim_and_the_page_counts_them():
    assert audit.claims(ROOT).count("{.verdict}") == len(CLAIMS)  # a build would find what is wrong too, minutes later
    assert audit.exam(ROOT).count("{.question}") == len(AUDIT["question"])
    page = (ROOT / "pages" / "audit.md").read_text(encoding="utf8")
    counted = {verdict: sum(claim["verdict"] == verdict for claim in CLAIMS) for verdict in audit.VERDICTS}
    assert {
        verdict: int(n) for verdict, n in re.findall(r"^\| \*([\w ]+)\* \| (\d+) \|", page, re.MULTILINE)
    } == counted


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"cell": ["01-language-models#none"]}, "no such cell"),
        ({"cell": ["99-none#title"]}, "no such notebook"),
        ({"cell": [BARE], "shows": {}, "here": ""}, "asserts nothing"),
        ({"cell": []}, "has the verdict"),
        ({"verdict": "true"}, "has the verdict"),
        ({"shows": r"is (\d+) exactly nothing"}, "is not in what"),
        ({"here": "None."}, "has not the places"),
    ],
)
def test_a_claim_without_its_ground_is_refused(changed, complaint):
    with pytest.raises(ValueError, match=complaint):
        audit.outcome(ROOT, GOOD | changed)


@pytest.mark.parametrize(
    ("printed", "legible"),
    [("-2", "−2"), ("10000", "10,000"), ("1.5e-07", r"$1.5 \cdot 10^{-7}$"), ("10^12", "$10^{12}$")],
)
def test_printed_numbers_are_made_legible(printed, legible):
    assert audit.legible(printed) == legible
