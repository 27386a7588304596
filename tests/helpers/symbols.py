"""Find the symbols in formulas: a letter as it is set, with its accent, and with a subscript that is no index.

``\\mathbf{W}_{hh}\\,\\mathbf{h}_{0}`` has two, ``\\mathbf{W}_{hh}`` and ``\\mathbf{h}``: a place in a text, a step or a
number in a subscript only says which of many is meant.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

DISPLAYED = re.compile(r"\$\$(.+?)\$\$(?:[ \t]*\((eq-[\w-]+)\))?", re.DOTALL)
TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[a-zA-Z]|[{}_^']|\S")
FONTS = {"\\mathbf", "\\boldsymbol", "\\operatorname", "\\mathrm"}
ACCENTS = {"\\hat", "\\tilde", "\\bar"}
NOT_READ = {"\\text", "\\begin", "\\end"}  # their braces hold no formula
LAYOUT = {  # what is the same in every textbook, or only arranges
    *("\\frac", "\\tfrac", "\\sqrt", "\\sum", "\\prod", "\\lim", "\\max", "\\min", "\\exp", "\\infty", "\\to", "\\mid"),
    *("\\le", "\\in", "\\cdot", "\\cdots", "\\ldots", "\\dots", "\\times", "\\leftarrow", "\\top", "\\lVert"),
    *("\\rVert", "\\big", "\\Big", "\\bigl", "\\bigr", "\\Bigl", "\\Bigr", "\\left", "\\right", "\\quad", "\\qquad"),
    *("\\underbrace", "\\partial"),
}
STEP, INDEX = r"[tskT0-9+\-,]*", r"[tskijgmnT0-9+\-,/]*"
WEIGHTS = {r"\mathbf{W}", r"\mathbf{b}"}  # their subscripts are their names


def group(tokens: list[str], start: int) -> tuple[list[str], int]:
    """Return what stands in the braces at `start`, or the one token there, and the place behind it."""
    if start >= len(tokens) or tokens[start] != "{":
        return tokens[start : start + 1], start + 1
    depth = 0
    for place in range(start, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[place], 0)
        if not depth:
            return tokens[start + 1 : place], place + 1
    raise ValueError(f"a brace is not closed in {' '.join(tokens)}")


def symbols(formula: str) -> set[str]:
    """Return the symbols of a formula."""
    return set(_symbols(TOKEN.findall(formula)))


def _symbols(tokens: list[str]) -> Iterator[str]:
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token in NOT_READ:
            _, place = group(tokens, place + 1)
        elif token in FONTS | ACCENTS:
            inside, place = group(tokens, place + 1)
            name = f"{token}{{{''.join(inside)}}}"
            place = yield from _subscripted(name, tokens, place)
        elif re.fullmatch(r"[a-zA-Z]", token) or (re.fullmatch(r"\\[a-zA-Z]+", token) and token not in LAYOUT):
            place = yield from _subscripted(token, tokens, place + 1)
        elif token == "_":  # below a sum or a bracket
            inside, place = group(tokens, place + 1)
            yield from _symbols(inside)
        else:
            place += 1


def _subscripted(name: str, tokens: list[str], place: int):
    """Yield a symbol with its subscript, and the symbols in that; return the place behind all that belongs to it."""
    bold = name.startswith(("\\mathbf", "\\boldsymbol"))
    place += tokens[place : place + 1] == ["'"]
    if tokens[place : place + 1] == ["_"]:
        inside, place = group(tokens, place + 1)
        if inside == ["\\text"]:
            inside, place = group(tokens, place)
        below = "".join(inside)
        if re.fullmatch(STEP if name in WEIGHTS else INDEX, below):
            yield from re.findall(r"[a-zA-Z]", below)
        else:
            name += f"_{{{below}}}"
    if bold and tokens[place : place + 1] == ["^"]:  # a gate's name, or a power
        _, place = group(tokens, place + 1)
    yield name
    return place


def numbered(notebook: Path) -> dict[str, str]:
    """Return the numbered equations of a chapter, by label."""
    cells = json.loads(notebook.read_text(encoding="utf8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return {label: formula for formula, label in DISPLAYED.findall(text) if label}
