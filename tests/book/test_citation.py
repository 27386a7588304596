"""How the book is cited: three formats that say the same, and no address that is not there."""

import re

import pytest
import yaml
from pybtex.database import parse_string

from extensions import citation
from places import ROOT

pytestmark = pytest.mark.book
TEXT = (ROOT / "CITATION.cff").read_text(encoding="utf8")
RELEASED = re.sub("^date-released: .*\n", "", TEXT, flags=re.MULTILINE) + "date-released: 2031-05-06\n"


def formats(folder, text: str) -> str:
    """Return the formats of a citation file with this text."""
    (folder / "CITATION.cff").write_text(text, encoding="utf8")
    return citation.formats(folder)


def test_the_three_formats_say_the_same(tmp_path):
    made = formats(tmp_path, RELEASED.replace("OWNER", "ada"))
    bibtex, source = re.findall(r"^```\w+\n(.*?)^```$", made, re.MULTILINE | re.DOTALL)
    cited = yaml.safe_load(source)
    (entry,) = parse_string(bibtex, "bibtex").entries.values()
    assert cited == yaml.safe_load(RELEASED.replace("OWNER", "ada")) and entry.type == "software"
    assert str(entry.persons["author"][0]).strip("{}") == cited["authors"][0]["name"]
    assert entry.fields["title"] == cited["title"] and entry.fields["version"] == cited["version"]
    assert entry.fields["year"] == "2031" and entry.fields["url"] == cited["url"]
    assert made.startswith(
        f"The Unrolled authors (2031). *Unrolled* (Version {cited['version']}) [Computer software]. {cited['url']}\n"
    )


def test_without_address_and_date_none_is_given(tmp_path):
    made = formats(tmp_path, TEXT)
    if "OWNER" in TEXT:
        assert "OWNER" not in made and "http" not in made and "url" not in made
    assert ("(in preparation)" in made) == ("date-released" not in TEXT)
