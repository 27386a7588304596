"""Take the page for instructors apart: its sections, its tables and its commands."""

import re

from places import ROOT

PAGE = (ROOT / "pages" / "teaching.md").read_text(encoding="utf8")


def section(title: str) -> str:
    """Return what stands below a heading, up to the next one that is as high or higher."""
    marks, below = re.search(rf"^(#+) {re.escape(title)}\n(.*)", PAGE, re.MULTILINE | re.DOTALL).groups()
    return re.split(rf"^#{{1,{len(marks)}}} ", below, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of all rows of the tables in a text."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def commands(title: str) -> str:
    """Return the shell's commands below a heading."""
    return "".join(re.findall(r"^```sh\n(.*?)^```", section(title), re.MULTILINE | re.DOTALL))
