"""The protocol's table of searches: of which contenders the best setting lies at an end of what was tried.

The directive ``{searches}`` stands for it.
"""

import tomllib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from extensions import fill

CHOSEN = Path(__file__).resolve().parents[2] / "lab" / "chosen.toml"  # the pages are made of a copy without it
WORDS = {
    "learning_rate": "learning rate", "forget_bias": "forget bias", "input_bias": "input bias",
    "update_bias": "update bias", "radius": "radius", "input_scale": "input scale",
}  # fmt: skip


def unsettled(entry: dict[str, Any]) -> list[str]:
    """Return the knobs of a choice whose best value lies at an end of those tried, so that a better one may lie beyond.

    A search by random draws has said so itself; of a grid, a place such as ``"4 of 4"`` does. Knobs with a natural end,
    as dropout or a number of layers, are left out.

    Example:
        >>> unsettled({"lies": {"learning_rate": "4 of 4", "forget_bias": "2 of 3", "dropout": "1 of 2"}})
        ['learning_rate']
        >>> unsettled({"lies": {"learning_rate": "24 of 24"}, "settled": True})
        []
    """
    if "settled" in entry:
        return [] if entry["settled"] else list(entry["lies"])
    places = {knob: tuple(map(int, place.split(" of "))) for knob, place in entry["lies"].items()}
    return [knob for knob, (at, of) in places.items() if knob in WORDS and of > 1 and at in (1, of)]


def searches(_: Path) -> str:
    """Return a row for each search: its contenders, and how many are not settled, by knob."""
    content = tomllib.loads(CHOSEN.read_text(encoding="utf8"))
    rows = ["| search | contenders | not settled | at an end |", "|---|---:|---:|---|"]
    for name, entries in content.items():
        at_end = [unsettled(entry) for entry in entries.values()]
        knobs = sorted({knob for each in at_end for knob in each})
        counts = ", ".join(f"{WORDS.get(knob, knob)} ({sum(knob in each for each in at_end)})" for knob in knobs)
        link = f"{{ref}}`{name} <record-{name}>`"
        rows.append(f"| {link} | {len(entries)} | {sum(map(bool, at_end))} | {counts or '–'} |")
    return "\n".join(rows) + "\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Let pages hold the table."""
    return fill(app, "searches", searches)
