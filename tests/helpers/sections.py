"""The sections of a chapter."""

import re
from typing import NamedTuple


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
