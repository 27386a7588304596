"""Look for what gives a solution away in the edition for students, whose pages are made without them."""

import html
import json
import re
from functools import cache
from pathlib import Path

from places import ROOT

SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)
LONG_ENOUGH = 20  # characters without blanks: what is shorter, anybody may write


def bare(line: str) -> str:
    """Return a line without blanks, so that neither its indentation nor the page's markup matters."""
    return re.sub(r"\s", "", line)


def sources(notebook: Path) -> list[str]:
    """Return the text of each cell of a notebook."""
    return ["".join(cell["source"]) for cell in json.loads(notebook.read_text(encoding="utf8"))["cells"]]


@cache
def secrets() -> frozenset[str]:
    """Return the lines, without blanks, that stand in solutions and nowhere else in what students are given."""
    given = [
        source
        for folder in ("chapters", "exercises")
        for path in ROOT.glob(f"{folder}/*.ipynb")
        for source in sources(path)
    ]
    given += [path.read_text("utf8") for names in ("lib/**/*.py", "*.md", "pages/**/*.md") for path in ROOT.glob(names)]
    known = {bare(line) for text in given for line in text.splitlines()}
    solved = [
        text for path in ROOT.glob("solutions/*.ipynb") for cell in sources(path) for text in SOLUTION.findall(cell)
    ]
    lines = {bare(line) for text in solved for line in text.splitlines() if not line.lstrip().startswith("###")}
    return frozenset(line for line in lines - known if len(line) >= LONG_ENOUGH)


def lines_of(path: Path) -> set[str]:
    """Return the lines of a page, a notebook or a script, without blanks and markup."""
    if path.suffix == ".ipynb":
        text = "\n".join(sources(path))
    else:
        text = path.read_text(encoding="utf8")
        text = html.unescape(re.sub(r"<[^>]*>", "", text)) if path.suffix == ".html" else text
    return {bare(line) for line in text.splitlines()}


def traces(site: Path) -> list[str]:
    """Return what gives solutions away in a folder of pages, or of what they are made of, a line for each.

    Args:
        site: the folder; its search index, if it has one, is looked through as well.
    """
    files = [path for path in sorted(site.rglob("*")) if path.suffix in (".html", ".ipynb", ".md", ".txt")]
    lines = [f"{path.relative_to(site)}: a page of solutions" for path in files if path.parent.name == "solutions"]
    lines += [f"{path.relative_to(site)}: {line}" for path in files for line in sorted(lines_of(path) & secrets())]
    index = site / "searchindex.js"
    if index.is_file():
        lines += [f"searchindex.js: {name}" for name in set(re.findall(r"solutions/[\w-]+", index.read_text("utf8")))]
    return lines
