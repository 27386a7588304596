"""The page of the recipe's knobs: what each is worth to an LSTM and a GRU, as the directive ``{knobs}``."""

import os
from pathlib import Path
from unittest import mock

import numpy as np
from matplotlib import pyplot as plt
from sphinx.application import Sphinx

from extensions import fill
from unrolled import records
from unrolled.figures import plots
from unrolled.text import stories

RECORD, SEEDS = "recipe-factors", "cells-over-budget"
CELLS = {"LSTM": "lstm", "GRU": "gru"}
KNOBS = {  # what the page calls a knob, and the contender that has it at another value
    "Start: uniform, not orthogonal (GRU: the reverse)": "the other start",
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
    "State never reset between texts": "no resets",
    "Vectors of 8 numbers, not 59": "embedding 8",
    "Vectors of 128 numbers": "embedding 128",
    "Vectors that begin at 0.3 of their size": "embedding × 0.3",
}
ALT = "For each knob a dot for the LSTM and one for the GRU, at their distance to the floor divided by the base's."
FIGURE = """\
```{{figure}} ../figures/knobs.svg
:name: fig-knobs
:alt: {alt}

{caption}
```
"""
CAPTION = (
    "The learning rate matters most. Distance to the floor with one knob changed, divided by the base's: left of 1 the "
    "change helps. Each dot is the mean of three seeds at the best rate of that row, its line their range."
)
OTHER_SEED = "Another seed"


def ratios() -> dict[str, dict[str, np.ndarray | float]]:
    """Return for each knob and cell the distance to the floor with the knob changed, divided by that of the base.

    The rows that begin with ``"Learning rate"`` have the base's own trainings at half and at twice its best rate, and
    the last one five seeds of the base, each divided by their mean. What matters most comes first.
    """
    floor = stories.grammar().entropy_per_character()
    record, seeds = records.load(RECORD), records.load(SEEDS)
    rows: dict[str, dict[str, np.ndarray | float]] = {}
    last = {}
    for shown, cell in CELLS.items():
        base = record[f"{cell}: base"]
        nats, best = base["nats"][0] - floor, int(base["best"][0])
        for row, at in (("Learning rate: half", best - 1), ("Learning rate: twice", best + 1)):
            rows.setdefault(row, {})[shown] = float(nats[at] / nats[best])
        for row, factor in KNOBS.items():
            if (label := f"{cell}: {factor}") in record:
                changed = record[label]
                cost = changed["nats"][0, changed["best"][0]] - floor
                rows.setdefault(row, {})[shown] = float(cost / nats[best])
        again = seeds[f"{cell} 2000"]["nats"] - floor
        last[shown] = again / again.mean()
    ordered = sorted(rows, key=lambda row: -max(abs(np.log(value)) for value in rows[row].values()))
    return {row: rows[row] for row in ordered} | {OTHER_SEED: last}


def knobs(root: Path) -> str:
    """Draw the figure into the figures below `root`, and return it with its caption."""
    rows = ratios()
    with mock.patch.dict(os.environ, UNROLLED_FIGURES=str(root / "figures")), plt.rc_context(plots.STYLE):
        fig = plots.dots(rows, xlabel="distance to the floor ÷ the base's", baselines={"base": 1.0}, xlog=True)
        plots.save(fig, "knobs")
        plt.close(fig)
    return FIGURE.format(alt=ALT, caption=CAPTION.format(most=next(iter(rows))))


def setup(app: Sphinx) -> dict[str, bool]:
    """Let a page hold the figure."""
    return fill(app, "knobs", knobs)
