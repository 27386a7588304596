"""The page of all records: each has its row, a displayed provenance leads there, and readers are named."""

import re

import pytest

from extensions import records
from places import ROOT
from unrolled.records import load, names

pytestmark = pytest.mark.book


def test_every_record_has_its_place_and_a_displayed_provenance_leads_there(html):
    page = (html / "pages" / "records.html").read_text(encoding="utf8")
    assert re.findall(r'id="record-([\w-]+)"', page) == names() and 'id="measured-on-a-gpu"' in page
    link = re.search(r'href="\.\./([^"#]+)#record-([^"]+)"', load(names()[0]).provenance()._repr_html_())
    assert link.groups() == ("pages/records.html", names()[0])


def test_every_record_that_a_chapter_loads_by_name_is_found():
    read = records.read_in(ROOT / "chapters" / "08-fair-comparisons.ipynb")
    assert "spelling" in read and not {name for name in read if "{" in name}
