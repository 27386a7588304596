"""How the book is cited: three formats that say the same, and no address that is not there."""

import pytest
import yaml
from pybtex.database import parse_string

import citation

pytestmark = pytest.mark.book
TEXT = citation.SOURCE.read_text(encoding="utf8")
RELEASED = TEXT.replace("OWNER", "ada") + "date-released: 2031-05-06\n"


def test_the_three_formats_say_the_same():
    made = citation.formats(RELEASED)
    cited = yaml.safe_load(made["CITATION.cff"])
    (entry,) = parse_string(made["unrolled.bib"], "bibtex").entries.values()
    assert cited == yaml.safe_load(RELEASED) and entry.type == "software"
    assert str(entry.persons["author"][0]).strip("{}") == cited["authors"][0]["name"]
    assert entry.fields["title"] == cited["title"] and entry.fields["version"] == cited["version"]
    assert entry.fields["year"] == "2031" and entry.fields["url"] == cited["url"]
    assert made["sentence.md"] == (
        f"The Unrolled authors (2031). *Unrolled* (Version {cited['version']}) [Computer software]. {cited['url']}"
    )


def test_without_address_and_date_none_is_given():
    made = citation.formats(TEXT.replace("github.com/ada/", "github.com/OWNER/"))
    if "OWNER" in TEXT:
        assert not [text for text in made.values() if "OWNER" in text or "http" in text]
    assert ("(in preparation)" in made["sentence.md"]) == ("date-released" not in TEXT)
