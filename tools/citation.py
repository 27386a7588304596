"""Say how the book is cited, in three formats, from CITATION.cff: a sentence, BibTeX, and that file itself."""

import re
from pathlib import Path

import yaml
from pybtex.database import BibliographyData, Entry, Person

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "CITATION.cff"
NOBODY = "OWNER"  # in an address, before the book has one
KEY = "unrolled"


def work(text: str) -> dict:
    """Return what a citation file holds, without addresses while the book has none."""
    return {name: value for name, value in yaml.safe_load(text).items() if NOBODY not in str(value)}


def year(cited: dict) -> str:
    """Return the year of a release, or "in preparation" before there is one."""
    return str(cited["date-released"])[:4] if "date-released" in cited else "in preparation"


def sentence(cited: dict) -> str:
    """Return the citation in the style of the APA, in Markdown."""
    authors = " & ".join(author["name"] for author in cited["authors"])
    place = f" {cited['url']}" if "url" in cited else ""
    return f"{authors} ({year(cited)}). *{cited['title']}* (Version {cited['version']}) [Computer software].{place}"


def bibtex(cited: dict) -> str:
    """Return the entry for a file of BibTeX."""
    fields = {"title": cited["title"], "year": year(cited), "version": cited["version"], "url": cited.get("url")}
    authors = [Person(last=f"{{{author['name']}}}") for author in cited["authors"]]
    entry = Entry("software", {name: value for name, value in fields.items() if value}, {"author": authors})
    return BibliographyData({KEY: entry}).to_string("bibtex")


def formats(text: str) -> dict[str, str]:
    """Return the citation in each format, by the name of the file that the page includes.

    Args:
        text: what CITATION.cff holds.
    """
    cited = work(text)
    lines = [line for line in text.splitlines() if not re.search(rf"\b{NOBODY}\b", line)]
    return {"sentence.md": sentence(cited), "unrolled.bib": bibtex(cited), "CITATION.cff": "\n".join(lines) + "\n"}
