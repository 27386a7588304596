"""Count the asserts of every section of the chapters; with --accept, make today's counts the ones that tests hold to.

Nothing else writes `chapters/asserts.json`, so that an assert which is lost is missed.
"""

import argparse
import ast
import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "chapters" / "asserts.json"
ACCEPT = "python tools/asserts.py --accept"


class Section(NamedTuple):
    """A part of a chapter, from a heading of the first or second rank to the next."""

    heading: str
    prose: list[str]
    code: list[dict]


def sections(notebook: dict) -> list[Section]:
    """Return the sections of a chapter in order; what stands before the first ``##`` belongs to the title."""
    parts = [Section("", [], [])]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            parts[-1].code.append(cell)
            continue
        before, *rest = re.split(r"^##? (.+)\n?", "".join(cell["source"]), flags=re.MULTILINE)
        parts[-1].prose.append(before)
        for heading, below in zip(rest[::2], rest[1::2], strict=True):
            parts.append(Section(heading.strip(), [below], []))
    return parts


def counted(notebook: dict) -> dict[str, int]:
    """Return how many asserts each section has; a section without any is left out, and so is ``assert True``."""
    counts = Counter()
    for section in sections(notebook):
        for cell in section.code:
            asserts = [node for node in ast.walk(ast.parse("".join(cell["source"]))) if isinstance(node, ast.Assert)]
            counts[section.heading] += sum(not isinstance(node.test, ast.Constant) for node in asserts)
    return {heading: count for heading, count in counts.items() if count}


def differences(accepted: dict[str, int], counts: dict[str, int]) -> list[str]:
    """Return a line for each section of a chapter that has fewer or more asserts than were accepted."""
    found = []
    for heading in accepted | counts:
        before, now = accepted.get(heading, 0), counts.get(heading, 0)
        if now < before:
            found.append(f"{heading!r} has {now} asserts and had {before}: put them back; if they may go, {ACCEPT}")
        elif now > before:
            found.append(f"{heading!r} has {now} asserts and had {before}: to keep them, {ACCEPT}")
    return found


def accepted() -> dict[str, dict[str, int]]:
    """Return the accepted counts of every chapter."""
    return json.loads(MANIFEST.read_text(encoding="utf8")) if MANIFEST.is_file() else {}


def main() -> None:
    """Say which counts have changed, and with --accept write them down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accept", action="store_true", help="write today's counts into chapters/asserts.json")
    accept = parser.parse_args().accept
    paths = sorted(ROOT.glob("chapters/*.ipynb"))
    today = {path.stem: counted(json.loads(path.read_text(encoding="utf8"))) for path in paths}
    for chapter, counts in today.items():
        for line in differences(accepted().get(chapter, {}), counts):
            print(f"{chapter}: {line}")
    if accept:
        MANIFEST.write_text(json.dumps(today, indent=1, ensure_ascii=False) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
