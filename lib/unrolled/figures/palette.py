"""The book's colours: a model has one colour, dashes and marker in every chart, and nothing else has its colour.

A relative of a model has its tint, and dashes and a marker of its own. What counts is black, a floor is grey, the steps
of an ordered quantity are a `ramp` of one hue, and what is not in the palette takes the `CATEGORIES` in turn. Gates
have the colours of the drawings of the cells. The hues differ in grey and for colour-blind eyes, too.
"""

from collections.abc import Collection, Iterable, Mapping

import numpy as np
from matplotlib import colors

BLACK, GREY, INK = "#000000", "#555555", "#222222"
TEAL, MAGENTA, OLIVE, SLATE, GREEN, PINK = "#0f6f78", "#b0288c", "#6f5f00", "#566273", "#2b7a3d", "#d06aa8"
BLUE, ORANGE, RED, VIOLET = "#1d66aa", "#ca5400", "#a01a02", "#5a1c82"  # of the models, and their tints
LIGHT_BLUE, LIGHT_ORANGE, LIGHT_RED, LIGHT_VIOLET = "#4f96d8", "#e0792a", "#e0604a", "#a866d2"
RESERVED = (BLUE, ORANGE, RED, VIOLET, LIGHT_BLUE, LIGHT_ORANGE, LIGHT_RED, LIGHT_VIOLET)
CATEGORIES = (MAGENTA, OLIVE, SLATE, GREEN, PINK)  # of what is not in the palette
GATES = {"forget": GREEN, "input": MAGENTA, "candidate": SLATE, "output": OLIVE, "update": GREEN, "reset": MAGENTA}
LIGHTEST, DARKEST = "#4d9aa3", "#04343a"  # the ends of a ramp
DASHES = ("-", "--", "-.", ":", (0, (6, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)), (0, (4, 1, 1, 1)))
MARKERS = tuple("os^DvP<>X")

PALETTE = {  # the colour, and which of the dashes and markers; an SVG has the names as identifiers
    "rnn": (BLUE, 0, 0),
    "irnn": (LIGHT_BLUE, 1, 3),
    "orthogonal-rnn": (LIGHT_BLUE, 2, 4),
    "rnn-variant": (LIGHT_BLUE, 4, 6),
    "lstm": (ORANGE, 1, 1),
    "lstm-1997": (LIGHT_ORANGE, 2, 3),
    "lstm-variant": (LIGHT_ORANGE, 5, 6),
    "gru": (RED, 2, 2),
    "gru-after": (LIGHT_RED, 3, 3),
    "mingru": (LIGHT_RED, 4, 4),
    "mingru-signed": (LIGHT_RED, 5, 5),
    "gru-variant": (LIGHT_RED, 0, 6),
    "attention": (VIOLET, 3, 3),
    "linear-attention": (LIGHT_VIOLET, 4, 4),
    "attention-variant": (LIGHT_VIOLET, 5, 5),
    "window": (TEAL, 6, 7),
    "counting": (BLACK, 0, 4),
    "floor": (GREY, 0, 8),
    "before": (INK, 1, 0),  # its dots are hollow
    "after": (INK, 0, 0),
    **{f"{gate}-gate": (colour, 0, 0) for gate, colour in GATES.items() if gate != "candidate"},
    "candidate": (SLATE, 0, 0),
}
LABELS = {  # what charts call them; after a comma stands the name of a variant
    **{"RNN": "rnn", "tanh": "rnn", "recurrent network": "rnn", "IRNN": "irnn", "tanh, orthogonal": "orthogonal-rnn"},
    **{"LSTM": "lstm", "LSTM of 1997": "lstm-1997", "no forget gate": "lstm-1997", "PyTorch's LSTM": "lstm-variant"},
    **{"GRU": "gru", "the GRU": "gru", "GRU, reset after": "gru-after", "PyTorch's GRU": "gru-variant"},
    **{"minGRU": "mingru", "minGRU, one layer": "mingru", "minGRU, signed": "mingru-signed"},
    **{"attention": "attention", "with attention": "attention", "transformer": "attention"},
    **{"linear attention": "linear-attention", "window": "window", "window network": "window"},
    **{f"{order}-gram{s}": "counting" for order in ("n", *range(1, 21)) for s in ("", "s")},
    **dict.fromkeys(("unigram", "bigram", "trigram", "Kneser–Ney"), "counting"),
    "most frequent tag": "counting",
    **dict.fromkeys(("floor", "the floor", "text", "the text", "entropy of the grammar"), "floor"),
    **dict.fromkeys(("before", "before training", "untrained"), "before"),
    **dict.fromkeys(("after", "after training", "trained"), "after"),
    **{f"{gate} gate": f"{gate}-gate" for gate in GATES if gate != "candidate"},
    "candidate": "candidate",
}


def name_of(label: str | None) -> str | None:
    """Return the name in the `PALETTE` of what a label stands for, or None.

    Example:
        >>> name_of("LSTM of 1997"), name_of("LSTM, dropout"), name_of("clipped"), name_of("LSTM − GRU, 500")
        ('lstm-1997', 'lstm-variant', None, None)
    """
    if label in LABELS or not label or " − " in label:  # the difference of two models stands for neither
        return LABELS.get(label)
    variant = f"{LABELS.get(label.partition(', ')[0])}-variant"
    return variant if ", " in label and variant in PALETTE else None


def ramp(steps: int) -> list[str]:
    """Return the colours of an ordered quantity's steps, such as units, lags or budgets, from light to dark.

    Example:
        >>> ramp(3)
        ['#4d9aa3', '#28676e', '#04343a']
    """
    ends = np.array([colors.to_rgb(LIGHTEST), colors.to_rgb(DARKEST)])
    shares = np.linspace(0, 1, steps) if steps > 1 else np.array([0.5])
    return [colors.to_hex((1 - share) * ends[0] + share * ends[1]) for share in shares]


def legible(colour: str) -> tuple[float, float, float]:
    """Return a colour, (red, green, blue) from 0 to 1, darkened until letters in it have a contrast of 4.5 on white.

    Example:
        >>> [round(float(part), 2) for part in legible("yellow")]
        [0.46, 0.46, 0.0]
    """
    rgb = np.array(colors.to_rgb(colour))
    while True:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        if 1.05 / (linear @ (0.2126, 0.7152, 0.0722) + 0.05) >= 4.5:  # WCAG 2
            return tuple(rgb)
        rgb = rgb * 0.95


def reference(label: str) -> tuple[str, str]:
    """Return the colour of a line to compare with, that of the palette or grey, and its identifier."""
    name = name_of(label)
    return (PALETTE[name][0], f"role-{name}") if name else (GREY, "role-other")


def styles(
    labels: Iterable[str | None],
    *,
    roles: Mapping[str, str] | None = None,
    ordered: bool | Collection[str] = False,
) -> list[dict]:
    """Return the properties of Matplotlib's line for each label: its colour, dashes, marker and identifier.

    Labels of one colour differ by dashes and markers. What is not in the palette takes the next of the `CATEGORIES`
    that nothing has here, as a gate may.

    Args:
        labels: the labels, in the order in which they are drawn.
        roles: the palette's names of labels that it does not know, as ``{"two layers": "attention"}``.
        ordered: whether the labels are the steps of one quantity, in order: a `ramp`; or those that are.

    Example:
        >>> gru, counted, other = styles(["GRU", "12-gram", "clipped"])
        >>> gru["color"], counted["color"], other["color"] == CATEGORIES[0], gru["gid"]
        ('#a01a02', '#000000', True, 'role-gru')
    """
    labels = list(labels)
    names = [(roles or {}).get(label) or name_of(label) for label in labels]
    steps = labels if ordered is True else list(ordered or ())
    hues = dict(zip(steps, ramp(len(steps)) if steps else (), strict=True))
    unused = [colour for colour in CATEGORIES if colour not in {PALETTE[name][0] for name in names if name}]
    others, taken, found = 0, set(), []
    for label, name in zip(labels, names, strict=True):
        if label in steps:
            place = steps.index(label)
            found.append(_line(hues[label], place, place, "ordered"))
        elif name is None:
            place = others + len(steps)
            found.append(_line(unused[others % len(unused)], place, place, "other"))
            others += 1
        else:
            colour, dashes, marker = PALETTE[name]
            again = next((n for n in range(len(DASHES)) if (colour, (dashes + n) % len(DASHES)) not in taken), 0)
            taken.add((colour, (dashes + again) % len(DASHES)))
            hollow = {"markerfacecolor": "white"} if name == "before" else {}
            found.append(_line(colour, dashes + again, marker + again, name) | hollow)
    return found


def _line(colour: str, dashes: int, marker: int, name: str) -> dict:
    look = {"color": colour, "linestyle": DASHES[dashes % len(DASHES)], "marker": MARKERS[marker % len(MARKERS)]}
    return look | {"gid": f"role-{name}"}
