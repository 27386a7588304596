"""The page of the library's speed: each comparison's ratios, as the directive ``{speed}``."""

import json
from pathlib import Path

from sphinx.application import Sphinx

from extensions import fill

HEADINGS = {
    "cells": "Recurrent cells",
    "attention": "Attention",
    "scans": "Without a loop over time",
    "ngrams": "Counting",
    "training": "Training",
    "softmax": "A large vocabulary",
    "browser": "In the browser",
}


def speed(root: Path) -> str:
    """Return a section for each subject that has been measured, with a table for each of its peers."""
    written = json.loads((root / "data" / "speed.json").read_text(encoding="utf8"))
    return "\n".join(section(HEADINGS[subject], **of) for subject, of in written.items())


def section(heading: str, tables: dict[str, dict], hardware: str, versions: str, commit: str, date: str) -> str:
    """Return the section of a subject."""
    lines = [f"## {heading}", ""]
    for title, rows in tables.items():
        lines += [f"| {title} | median | quartiles |", "|---|---:|---:|"]
        for name, ratios in rows.items():
            low, middle, high = (f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:#.2g}" for ratio in ratios)
            lines.append(f"| {name} | {middle} | {low} to {high} |")
        lines.append("")
    return "\n".join([*lines, f"*{hardware}; {versions}; commit {commit}, {date}.*", ""])


def setup(app: Sphinx) -> dict[str, bool]:
    """Let a page hold the tables."""
    return fill(app, "speed", speed)
