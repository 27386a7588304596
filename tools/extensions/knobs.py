"""The page of the recipe's knobs: what each is worth to an LSTM and a GRU, as the directive ``{knobs}``.

The directive ``{beta2}`` is the table of what Adam's β₂ is worth elsewhere.
"""

import os
from pathlib import Path
from unittest import mock

import numpy as np
from matplotlib import pyplot as plt
from sphinx.application import Sphinx

from extensions import fill
from unrolled import records
from unrolled.figures import charts
from unrolled.text import stories

RECORD, FURTHER, SEEDS = "recipe-factors", "recipe-beta2", "cells-over-budget"
CELLS = {"LSTM": "lstm", "GRU": "gru"}
KNOBS = {  # what the page calls a knob, and the contender that has it at another value
    "The other start, uniform or orthogonal": "the other start",
    "Forget bias 1, not −1": "forget bias 1",
    "Forget bias 0, not −1": "forget bias 0",
    "Constant rate, no decay": "constant rate",
    "No warm-up": "no warm-up",
    "No clipping": "no clipping",
    "Adam's β₂ 0.99, not 0.999": "β₂ 0.99",
    "Adam's β₂ 0.9": "β₂ 0.9",
    "Windows of 128 characters, not 64": "16 × 128",
    "Windows of 32 characters": "64 × 32",
    "Updates half as large, twice as many": "half an update, twice as many",
    "Updates twice as large, half as many": "twice an update, half as many",
    "State never reset": "no resets",
    "Embedding of 8 numbers, not 32": "embedding 8",
    "Embedding of 128 numbers": "embedding 128",
    "Embedding that begins at 0.3 of its size": "embedding × 0.3",
}
ALT = "For each knob a dot for the LSTM and one for the GRU, at their distance to the floor divided by the base's."
CAPTION = (
    "Too large an embedding costs most; then, for the LSTM, the other start. Distance to the floor with one knob "
    "turned, divided by the base's: left of 1 the turn helps. A dot is the mean of three seeds at the best rate of its "
    "row, and its line their range; the rates have one seed, and the last row has five."
)
FIGURE = f"""\
```{{figure}} ../figures/knobs.svg
:name: fig-knobs
:alt: {ALT}

{CAPTION}
```
"""
OTHER_SEED = "Other first weights"
BETA2 = ("β₂ 0.99", "β₂ 0.9")


def nats_of(label: str, record: str = RECORD) -> np.ndarray:
    """Return what a character costs with a variant at its best rate, (seeds,)."""
    tried = records.load(record)[label]
    return np.array([tried["nats"][0, tried["best"][0]], *records.load(f"{record}-seeds")[label]["nats"]])


def above_floor(label: str, record: str = RECORD) -> np.ndarray:
    """Return how far above the floor of the stories that is, (seeds,)."""
    return nats_of(label, record) - stories.grammar().entropy_per_character()


def ratios() -> dict[str, dict[str, np.ndarray]]:
    """Return for each knob and cell the distance to the floor with the knob turned, divided by the base's, (seeds,).

    Two rows have the base itself at half and at twice its best rate, with one seed; the last row has the base from
    other first weights, divided by its mean. What matters most comes first.
    """
    record, floor = records.load(RECORD), stories.grammar().entropy_per_character()
    rows: dict[str, dict[str, np.ndarray]] = {}
    last = {}
    for shown, cell in CELLS.items():
        base, rates = above_floor(f"{cell}: base"), record[f"{cell}: base"]
        for row, by in (("Learning rate: half", -1), ("Learning rate: twice", 1)):
            rows.setdefault(row, {})[shown] = (rates["nats"][:, rates["best"][0] + by] - floor) / base[0]
        for row, factor in KNOBS.items():
            if f"{cell}: {factor}" in record:
                rows.setdefault(row, {})[shown] = above_floor(f"{cell}: {factor}") / base
        seeds = records.load(SEEDS)[f"{cell} 2000"]["nats"] - floor
        last[shown] = seeds / seeds.mean()
    ordered = sorted(rows, key=lambda row: -max(abs(np.log(of.mean())) for of in rows[row].values()))
    return {row: rows[row] for row in ordered} | {OTHER_SEED: last}


def knobs(root: Path) -> str:
    """Draw the figure into the figures below `root`, and return it with its caption."""
    rows = ratios()
    with mock.patch.dict(os.environ, UNROLLED_FIGURES=str(root / "figures")), plt.rc_context(charts.STYLE):
        fig = charts.dots(rows, xlabel="distance to the floor ÷ the base's", baselines={"base": 1.0})
        charts.save(fig, "knobs")
        plt.close(fig)
    return FIGURE


def beta2(root: Path) -> str:
    """Return a table of what Adam's β₂ is worth to four networks: mean and range of what `ratios` has of two."""
    rows = [f"| | {' | '.join(BETA2)} |", "|---|---|---|"]
    for name, ratios_of in beta2_ratios().items():
        cells = (f"{of.mean():.2f} ({of.min():.2f} to {of.max():.2f})" for of in ratios_of)
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def beta2_ratios() -> dict[str, list[np.ndarray]]:
    """Return for each network and each of `BETA2` the distance to the floor divided by the base's, (seeds,)."""
    found = {}
    for name in (*CELLS, "RNN", "transformer"):
        record = RECORD if name in CELLS else FURTHER
        base, *turned = (above_floor(f"{name.lower()}: {of}", record) for of in ("base", *BETA2))
        found[name] = [of / base for of in turned]
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Let a page hold the figure and the table."""
    fill(app, "beta2", beta2)
    return fill(app, "knobs", knobs)
