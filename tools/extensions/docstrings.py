"""The library's pages: docstrings as Sphinx reads them, and links by readers' names.

Readers import from rooms, as in ``from unrolled.cells import GRUCell``, and so the pages document the rooms' names.
What refers to a name by the file it is written in, as annotations do, is led there.
"""

import re
from collections import _tuplegetter  # what a field of a named tuple is

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

SECTION = re.compile(r"(Args|Attributes|Example|Returns):$")
LABELS = re.compile(r"\((:eq:`[^`]+`(?:, :eq:`[^`]+`)*)\)")
ROLE = re.compile(r"(:eq:`[^`]+`)")


def escaped(line: str) -> str:
    """Return a line of a docstring's equations in which only references to equations are markup."""
    parts = ROLE.split(LABELS.sub(r"\1", line))
    return "".join(part if ROLE.fullmatch(part) else re.sub(r"([\\*`_|])", r"\\\1", part) for part in parts)


def prepared(lines: list[str]) -> list[str]:
    """Return the lines of a docstring as Napoleon and Sphinx understand them.

    Indented blocks between paragraphs are equations, and become code; what is returned has no type before a colon.
    """
    made, section, block = [], "", False
    for number, line in enumerate(lines):
        if line and not line.startswith(" "):
            heading = SECTION.match(line)
            section, block = heading[1] if heading else "", False
            if section == "Returns":
                made.append(":returns:")
                continue
        elif line and not section and not block and (number == 0 or not lines[number - 1]):
            made += [".. parsed-literal::", ""]
            block = True
        made.append(escaped(line) if block else re.sub(r"\*\*(?=\w+: )", r"\\*\\*", line))  # of names after others
    return made


def process(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Prepare a docstring. What a property's first line has before a colon is no type, after an empty comment."""
    lines[:] = [*(["..", ""] if what in ("property", "attribute") else []), *prepared(lines)]


def documented(target: str, module: str, objects: dict) -> str | None:
    """Return the name that the pages have for ``"unrolled.cells.base.Cell"``, ``"cells.unroll"`` or ``"Recipe"``."""
    words, room = target.split("."), module.rpartition(".")[0]
    names = [target, f"unrolled.{target}", ".".join(words[:2] + words[3:]), f"{room}.{target}"]
    names += [name for name in objects if name.rpartition(".")[2] == target and target[0].isupper()]
    return next((name for name in names if name in objects), None)


def resolve(app: Sphinx, env: BuildEnvironment, node: nodes.Element, shown: nodes.Element) -> nodes.Node | None:
    """Lead a reference to a Python name to where the pages document it; a word in backticks may be just code."""
    if node.get("refdomain") != "py":
        return None
    objects, target = env.get_domain("py").objects, node["reftarget"]
    if name := documented(target, node.get("py:module") or "", objects):
        there = objects[name]
        return make_refnode(app.builder, node["refdoc"], there.docname, there.node_id, shown, name)
    return shown if node["reftype"] == "obj" or target.startswith("unrolled.") else None


def skip(app: Sphinx, what: str, name: str, thing: object, skipped: bool, options: object) -> bool | None:
    """Leave out the fields of a named tuple, which its docstring explains."""
    return True if isinstance(thing, _tuplegetter) else None
