"""The directive ``{records}``: a table of what each record measures, how, and which chapters read it."""

import re
from fnmatch import fnmatchcase
from pathlib import Path
from textwrap import indent

from extensions import cells
from unrolled import records

ROOT = Path(__file__).resolve().parents[2]
TABLE = """\
:::{list-table}
:header-rows: 1
:class: records

* - record
  - what it measures
  - chapters
  - measured"""
RUN = {name for file in ROOT.glob("lab/*.py") for name in re.findall(r'^ +"([\w-]+)",$', file.read_text("utf8"), re.M)}


def entries(root: Path) -> str:
    """Return the table of the records, and where the chapters below `root` read them."""
    reads, rows = {chapter: read_in(chapter) for chapter in sorted(root.glob("chapters/*.ipynb"))}, []
    for name in records.names():
        readers = [chapter for chapter, patterns in reads.items() if any(fnmatchcase(name, x) for x in patterns)]
        rows.append(entry(name, records.load(name), readers))
    return "\n".join([TABLE, *rows, ":::\n"])


def read_in(chapter: Path) -> set[str]:
    """Return the records that a chapter loads, with ``*`` for what a variable holds, or whose provenance it shows."""
    code = [cell for cell in cells(chapter) if cell["cell_type"] == "code"]
    loaded = re.findall(r'\bload\(f?"([^"]+)"', "\n".join(cell["source"] for cell in code))
    shown = ["".join(x.get("data", {}).get("text/html", "")) for cell in code for x in cell.get("outputs", [])]
    linked = re.findall(r'records\.html#record-([\w-]+)"', "\n".join(shown))
    return {re.sub(r"\{.*?\}", "*", name) for name in (*loaded, *linked)}


def entry(name: str, record: records.Record, readers: list[Path]) -> str:
    """Return the row of the table that is about one record; what it measures, and how, is folded."""
    trials = sum(len(result.trials) for result in record.values())
    lines = [f"- Labels: {', '.join(f'`{label}`' for label in record)}", *([f"- Trials: {trials}"] if trials else [])]
    lines.append(f"- Library: {record.environment('versions')}; commit {record.environment('commit')}")
    again = f"`python -m lab run {name} --record`" if name in RUN else "its code has gone; the commit has it"
    lines.append(f"- Command: {again}")
    for metric, (unit, about, axes) in record.metrics.items():
        by = f", by {' and '.join(f'`{axis}`' for axis in axes)}" if axes else ""
        lines.append(f"- `{metric}`{by}{f', in {plain(unit)}' if unit else ''}: {plain(about)}")
    details = "\n".join(["<details><summary>details</summary>", "", *lines, "", "</details>"])
    chapters = ", ".join(f"[{path.name[:2].lstrip('0')}](../chapters/{path.name})" for path in readers)
    place, about = f"[`{name}`]{{#record-{name}}}", f"{plain(record.title)}\n\n{details}"
    first, *others = (indent(cell, "    ").lstrip() for cell in (place, about, chapters, record.provenance().text))
    return "\n".join([f"* - {first}", *(f"  - {cell}".rstrip() for cell in others)])


def plain(text: str) -> str:
    """Return a text in which Markdown finds no markup."""
    return re.sub(r"([\\`*_$<>\[\]])", r"\\\1", text)
