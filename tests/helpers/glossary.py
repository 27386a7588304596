"""The entries of the glossary, as its page has them."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from places import ROOT

PAGE = ROOT / "pages" / "glossary.md"
PLACE = re.compile(r"chapter (\d+), \[([^\]]+)\]\(\.\./(chapters/[\w-]+\.ipynb)#([^)]+)\)")


@dataclass(frozen=True)
class Entry:
    """A term: its names, what it means, its symbols, and the sections and equations that introduce it.

    A place is (the chapter's number, the section's name, the chapter's path, the end of its address).
    """

    names: tuple[str, ...]
    meaning: str
    symbols: tuple[str, ...]
    places: tuple[tuple[int, str, str, str], ...]
    equations: tuple[str, ...]
    elsewhere: str


def entries(page: str) -> list[Entry]:
    """Return the entries of a glossary's page."""
    blocks = re.findall(r"^```\{glossary\}\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"\n\n(?=\S)", block)]
    return [entry(part) for part in parts]


def entry(part: str) -> Entry:
    """Return one entry."""
    names = re.match(r"(?:\S.*\n)+", part)[0].splitlines()
    paragraphs = [" ".join(text.split()) for text in part[sum(len(name) + 1 for name in names) :].split("\n\n")]
    if len(paragraphs) != 2:
        raise ValueError(f"{names[0]}: an entry has a meaning and, in a paragraph of its own, where it comes from")
    form = r"(?:Symbol: (?P<symbols>.*?)\. )?From (?P<origin>.*?)\.(?: Elsewhere: (?P<elsewhere>.*)\.)?"
    if not (match := re.fullmatch(form, paragraphs[1])):
        raise ValueError(f"{names[0]}: it says not 'From chapter ..., [section](address)', but {paragraphs[1]!r}")
    places = [(int(number), name, path, unquote(end)) for number, name, path, end in PLACE.findall(match["origin"])]
    symbols = re.findall(r"\$([^$]+)\$", match["symbols"] or "")
    equations = re.findall(r"\{eq\}`([^`]+)`", match["origin"])
    return Entry(tuple(names), paragraphs[0], tuple(symbols), tuple(places), tuple(equations), match["elsewhere"] or "")
