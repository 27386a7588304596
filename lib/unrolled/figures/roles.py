"""The registry of colours: what has a role has one colour in the whole book, and nothing else has it.

The hues of the models are reserved: no chart uses them for anything but a model of that family. A relative of a model
has its tint, and dashes and a marker of its own. What counts is black, a floor is grey, the steps of an ordered
quantity are a `ramp` of one hue, and what has no role takes the `CATEGORIES` in turn. Gates have the colours of the
drawings of the cells. Hues start from Matplotlib's petroff10, as far as they differ in grey and for colour-blind eyes.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib import colors

BLACK, GREY, INK = "#000000", "#555555", "#222222"
TEAL, MAGENTA, OLIVE, SLATE, GREEN, PINK = "#0f6f78", "#b0288c", "#6f5f00", "#566273", "#2b7a3d", "#d06aa8"
CATEGORIES = (MAGENTA, OLIVE, SLATE, GREEN, PINK)  # of what has no role
GATE_COLOURS = {
    "forget": GREEN,
    "input": MAGENTA,
    "candidate": SLATE,
    "output": OLIVE,
    "update": GREEN,
    "reset": MAGENTA,
}
LIGHTEST, DARKEST = "#4d9aa3", "#04343a"  # the ends of a ramp
DASHES = ("-", "--", "-.", ":", (0, (6, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)), (0, (4, 1, 1, 1)))
MARKERS = tuple("os^DvP<>X")


@dataclass(frozen=True)
class Role:
    """What a line or a dot stands for in every chart of the book, and how it looks.

    Args:
        name: its name, lower-case words joined by hyphens, which the figure's file gives as the identifier.
        colour: the colour of lines and dots.
        dashes: which of `DASHES` its line has.
        marker: which of `MARKERS` its dots have.
        labels: the labels that charts give it, a regular expression for the whole label.
        family: the family of models whose hue is reserved, or None.
        hollow: whether its dots are hollow.

    Example:
        >>> role_of("minGRU, signed").family
        'gru'
    """

    name: str
    colour: str
    dashes: int
    marker: int
    labels: str
    family: str | None = None
    hollow: bool = False


SIZE = r"(, (h = )?[\d,]+)?"  # a size that may follow a model's name
ROLES = (  # of two roles that both know a label, the first has it
    Role("irnn", "#4f96d8", 1, 3, r"IRNN(, .+)?", "rnn"),
    Role("orthogonal-rnn", "#4f96d8", 2, 4, r"(tanh, )?orthogonal( RNN)?", "rnn"),
    Role("logistic-rnn", "#4f96d8", 3, 5, r"logistic( RNN)?", "rnn"),
    Role("rnn", "#1d66aa", 0, 0, rf"(the )?RNN{SIZE}|tanh|recurrent network", "rnn"),
    Role("rnn-variant", "#4f96d8", 4, 6, r"RNN, .+|PyTorch's RNN", "rnn"),
    Role("lstm-1997", "#e0792a", 2, 3, r"LSTM of 1997|no forget gate", "lstm"),
    Role("lstm-replayed", "#e0792a", 3, 4, r"(LSTM, )?replayed", "lstm"),
    Role("minlstm", "#e0792a", 4, 5, r"minLSTM(, .+)?", "lstm"),
    Role("lstm", "#ca5400", 1, 1, rf"(the )?LSTM{SIZE}", "lstm"),
    Role("lstm-variant", "#e0792a", 5, 6, r"LSTM, .+|PyTorch's LSTM|[sm]LSTM", "lstm"),
    Role("gru-after", "#e0604a", 3, 3, r"GRU, reset after", "gru"),
    Role("mingru-signed", "#e0604a", 5, 5, r"minGRU, signed", "gru"),
    Role("mingru", "#e0604a", 4, 4, r"minGRU(, .+)?", "gru"),
    Role("gru", "#a01a02", 2, 2, rf"(the )?GRU{SIZE}", "gru"),
    Role("gru-variant", "#e0604a", 0, 6, r"GRU, .+|PyTorch's GRU", "gru"),
    Role("linear-attention", "#a866d2", 4, 4, r"linear attention(, .+)?|linear, \d+", "attention"),
    Role("attention", "#5a1c82", 3, 3, r"(with |the )?(attention|transformer)", "attention"),
    Role("attention-variant", "#a866d2", 5, 5, r"(attention|transformer), .+", "attention"),
    Role(
        "counting",
        BLACK,
        0,
        4,
        r"(\d+-|n-|uni|bi|tri)grams?|(modified )?Kneser–Ney|hidden Markov model|most frequent tag|counts",
    ),
    Role("floor", GREY, 0, 8, r"(the )?floor|entropy.*|(the )?text"),
    Role("before", INK, 1, 0, r"before( training)?|untrained", hollow=True),
    Role("after", INK, 0, 0, r"after( training| .+ updates)?|trained"),
    *(
        Role(f"{gate}-gate", colour, 0, 0, f"{gate} gate")
        for gate, colour in GATE_COLOURS.items()
        if gate != "candidate"
    ),
    Role("candidate", SLATE, 0, 0, "candidate"),
    Role("window", TEAL, 6, 7, r"window( network)?"),
)
BY_NAME = {role.name: role for role in ROLES}
ORDERED, OTHER = "ordered", "other"  # what a chart says of a line that stands for no role
RESERVED = {role.colour: role.family for role in ROLES if role.family}  # each reserved colour, and whose it is


def role_of(label: str | None) -> Role | None:
    """Return the role that a label stands for, or None; the difference of two models stands for neither.

    Args:
        label: the label, as a chart writes it.

    Example:
        >>> [role and role.name for role in map(role_of, ("LSTM of 1997", "5-gram", "clipped"))]
        ['lstm-1997', 'counting', None]
    """
    if not label or " − " in label:
        return None
    return next((role for role in ROLES if re.fullmatch(role.labels, label)), None)


def reference(label: str) -> tuple[str, str]:
    """Return the colour and the identifier of a line to compare with: those of its role, or grey.

    Args:
        label: the label, as a chart writes it.

    Example:
        >>> reference("5-gram")[1], reference("guessing")[1]
        ('role-counting', 'role-other')
    """
    role = role_of(label)
    return (role.colour, f"role-{role.name}") if role else (GREY, "role-other")


def ramp(steps: int) -> list[str]:
    """Return the colours of an ordered quantity's steps, such as units, lags or budgets, from light to dark.

    Args:
        steps: how many there are.

    Raises:
        ValueError: `steps` is less than 1.

    Example:
        >>> ramp(3)
        ['#4d9aa3', '#28676e', '#04343a']
    """
    if steps < 1:
        raise ValueError(f"steps is {steps}; a ramp has at least one")
    ends = np.array([colors.to_rgb(LIGHTEST), colors.to_rgb(DARKEST)])
    shares = np.linspace(0, 1, steps) if steps > 1 else np.array([0.5])
    return [colors.to_hex((1 - share) * ends[0] + share * ends[1]) for share in shares]


def looks(
    labels: Iterable[str | None],
    *,
    roles: Mapping[str, str] | None = None,
    ordered: bool | Collection[str] = False,
) -> list[dict]:
    """Return the colour, dashes, marker and identifier of each label of a chart: of a role those of every chart.

    Labels of one role, or of roles of one tint, share their colour, and differ by dashes and marker. What has no role
    takes the next of the `CATEGORIES` that no role has here, as a gate may.

    Args:
        labels: the labels, in the order in which they are drawn.
        roles: the names of the roles of labels that the registry does not know, as ``{"two layers": "attention"}``.
        ordered: whether the labels are the steps of one quantity, in order: a `ramp`, whatever they are called; or
            those of the labels that are, beside others.

    Raises:
        ValueError: there is no role of a name, or no label that is given one or is a step.

    Example:
        >>> gru, counted, other = looks(["GRU", "12-gram", "clipped"])
        >>> gru["color"], counted["color"], other["color"] == CATEGORIES[0], gru["gid"]
        ('#a01a02', '#000000', True, 'role-gru')
        >>> looks(["GRU"]) == [gru]
        True
    """
    labels, roles = list(labels), dict(roles or {})
    wrong = [f"{label!r}: {name!r}" for label, name in roles.items() if label not in labels or name not in BY_NAME]
    if wrong:
        raise ValueError(f"roles has {wrong[0]}; the labels are {labels}, and the roles {', '.join(BY_NAME)}")
    steps = labels if ordered is True else list(ordered or ())
    missing = [step for step in steps if step not in labels]
    if missing:
        raise ValueError(f"ordered has {missing[0]!r}; the labels are {labels}")
    ramped = [_look(colour, place, place, ORDERED) for place, colour in enumerate(ramp(len(steps)))] if steps else []
    if ordered is True:
        return ramped
    known = [BY_NAME[roles[label]] if label in roles else role_of(label) for label in labels]
    others, taken, result = 0, set(), []
    unused = [colour for colour in CATEGORIES if colour not in {role.colour for role in known if role}]
    for label, role in zip(labels, known, strict=True):
        if label in steps:
            result.append(ramped[steps.index(label)])
        elif role is None:
            place = others + len(steps)
            result.append(_look(unused[others % len(unused)], place, place, OTHER))
            others += 1
        else:
            free = (n for n in range(len(DASHES)) if (role.colour, (role.dashes + n) % len(DASHES)) not in taken)
            again = next(free, 0)
            taken.add((role.colour, (role.dashes + again) % len(DASHES)))
            look = _look(role.colour, role.dashes + again, role.marker + again, role.name)
            result.append(look | ({"markerfacecolor": "white"} if role.hollow else {}))
    return result


def _look(colour: str, dashes: int, marker: int, name: str) -> dict:
    """Return the properties of a Matplotlib line."""
    place, mark = dashes % len(DASHES), marker % len(MARKERS)
    return {"color": colour, "linestyle": DASHES[place], "marker": MARKERS[mark], "gid": f"role-{name}"}
