"""Colours: each has one role, can be told from the others, and in the stored figures stands for nothing else."""

import re
from functools import cache
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import colors

from places import ROOT
from unrolled.figures import canvas, plots, roles

SVG = "{http://www.w3.org/2000/svg}"
TO_XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])
BLIND = {  # what people who lack a kind of cone see, in linear RGB (Machado, Oliveira and Fernandes, 2009)
    "protanopia": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deuteranopia": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "tritanopia": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}


@cache
def linear(colour):
    """Return a colour in linear RGB, (3,)."""
    rgb = np.array(colors.to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Return a colour in CIELAB, (3,), from linear RGB."""
    x, y, z = np.cbrt(TO_XYZ @ np.clip(rgb, 0, 1) / (0.9505, 1.0, 1.0888))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def apart(one, other, blind=None):
    """Return the distance of two colours in CIELAB, for eyes that may lack a kind of cone."""
    see = np.array(BLIND[blind]) if blind else np.eye(3)
    return float(np.linalg.norm(lab(see @ linear(one)) - lab(see @ linear(other))))


def contrast(colour):
    """Return the contrast of a colour with white (WCAG 2)."""
    return 1.05 / (float(TO_XYZ[1] @ linear(colour)) + 0.05)


@cache
def near(colour):
    """Return the registered colours, or those of a drawing, that a colour is: it, or it darkened for letters."""
    known = {role.colour for role in roles.ROLES} | {*roles.CATEGORIES, canvas.BACK}
    return {each for each in known if colour in (each, colors.to_hex(plots.ink(each)))}


@cache
def on_ramp(colour):
    """Tell whether a colour lies on the ramp of ordered quantities, or is one that does, darkened for letters."""
    steps = np.array([(colors.to_rgb(each), plots.ink(each)) for each in roles.ramp(100)])  # (100, itself or ink, RGB)
    return np.abs(steps - colors.to_rgb(colour)).max(axis=2).min() < 0.01


@cache
def is_quiet(colour):
    """Tell whether a colour is pale or a grey, which stand for nothing in particular."""
    lightness, *hue = lab(linear(colour))
    return colour not in roles.RESERVED and bool(lightness > 85 or np.hypot(*hue) < 5)


def faults(svg):
    """Return what is wrong with the colours of a figure: a colour of no role, or one that is not its part's.

    A part that stands for a role says so in its identifier. Greys, what is pale, and images are not looked at.
    """
    found = set()

    def look(element, role):
        name = re.match(r"role-([a-z0-9-]+?)(?:\.\d+)?$", element.get("id", ""))
        role = name[1] if name else role
        for colour in re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", element.get("style", "")):
            if is_quiet(colour):
                continue
            own = roles.BY_NAME[role].colour if role in roles.BY_NAME else None
            if own and colour in (own, colors.to_hex(plots.ink(own))):
                continue
            if own:
                found.add(f"{colour} stands for {role}, whose colour is {own}")
            elif near(colour) & set(roles.RESERVED):
                (first, *_) = sorted(near(colour) & set(roles.RESERVED))
                found.add(f"{colour}, of the family {roles.RESERVED[first]}, stands for something else")
            elif not near(colour) and not on_ramp(colour):
                found.add(f"{colour} is no colour of the registry")
        for child in element:
            look(child, role)

    look(ElementTree.fromstring(svg), None)
    return sorted(found)


@pytest.mark.parametrize("path", sorted(ROOT.glob("figures/*.svg")), ids=lambda path: path.stem)
def test_a_reserved_colour_stands_for_its_model_alone(path):
    wrong = faults(path.read_text(encoding="utf8"))
    assert not wrong, f"{path.name}: {'; '.join(wrong)}: give its labels roles, and make chapters"


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    monkeypatch.setenv("UNROLLED_FIGURES", str(tmp_path))

    def drawn(*labels, change=None, **options):
        """Return the file of a chart with a line for each label, after a change of its axes."""
        series = {label: ([1, 2, 3], [[1.0, 2.0, n], [1.0, 3.0, n]]) for n, label in enumerate(labels)}
        fig = plots.curves(series, xlabel="x", ylabel="y", **options)
        if change:
            change(fig.axes[0])
        path = plots.save(fig, "chart")
        plots.plt.close(fig)
        return path.read_text()

    return drawn


def test_a_chart_in_colours_of_the_registry_has_no_fault(drawn):
    every = "RNN", "LSTM", "GRU", "transformer", "minGRU", "LSTM of 1997", "12-gram", "clipped", "before", "after"
    for labels in (every[:4], every):  # named at their ends, and in a legend
        assert faults(drawn(*labels, floor=("floor", 0.5), baselines={"5-gram": 1.0, "chance": 2.0})) == []
    assert faults(drawn("16 units", "32 units", "64 units", ordered=True)) == []
    assert faults(drawn("two layers", roles={"two layers": "attention"})) == []


def test_a_reserved_colour_on_something_else_is_a_fault(drawn):
    gru = roles.BY_NAME["gru"].colour
    for change in (
        lambda ax: ax.axhline(1.5, color=gru),
        lambda ax: ax.annotate("here", (1, 1), color=gru),
        lambda ax: ax.plot([1, 2], [1, 2], color=gru, gid="role-other"),
        lambda ax: ax.plot([1, 2], [1, 2], color=gru, gid="role-lstm"),
    ):
        assert len(faults(drawn("LSTM", change=change))) == 1
    assert "no colour of the registry" in faults(drawn("GRU", change=lambda ax: ax.axhline(1, color="#3f90da")))[0]
    assert "family gru" in faults(drawn("reset", change=lambda ax: ax.lines[0].set_color(gru)))[0]


def test_identifiers_are_unique(drawn):
    names = re.findall(r'id="(role-[^"]+)"', drawn("GRU", "LSTM", "GRU, 32", "GRU, 128"))
    assert len(names) == len(set(names)) > 8


def test_labels_of_the_book_have_their_roles():
    families = {
        "rnn": ("RNN", "tanh", "IRNN", "IRNN, clipped", "orthogonal", "logistic", "recurrent network"),
        "lstm": ("LSTM", "LSTM of 1997", "no forget gate", "minLSTM", "replayed"),
        "gru": ("GRU", "the GRU", "GRU, reset after", "minGRU", "minGRU, signed", "PyTorch's GRU", "GRU, 32"),
        "attention": ("attention", "transformer", "with attention", "linear attention", "linear, 8"),
    }
    for family, labels in families.items():
        assert {roles.role_of(label).family for label in labels} == {family}
    names = {"LSTM, h = 1536": "lstm", "GRU, 32": "gru", "GRU, PyTorch": "gru-variant", "after 200 updates": "after"}
    assert {label: roles.role_of(label).name for label in names} == names
    for label in ("12-gram", "bigram", "n-grams", "Kneser–Ney", "hidden Markov model"):
        assert roles.role_of(label).name == "counting"
    for label in (
        "reset",
        "carried",
        "LSTM − GRU",
        "GRU, reset after − before",
        "T = 16",
        "order 4",
        "one layer",
        None,
        "",
    ):
        assert roles.role_of(label) is None


def test_models_can_be_told_apart_in_grey_and_by_the_colour_blind():
    models = [roles.BY_NAME[name].colour for name in ("rnn", "lstm", "gru", "attention")]
    for one, other in combinations([*models, roles.BLACK], 2):
        assert abs(lab(linear(one))[0] - lab(linear(other))[0]) > 7
        assert min(apart(one, other, blind) for blind in (None, *BLIND)) > 11
    for family in {role.family for role in roles.ROLES} - {None}:
        kin = [role for role in roles.ROLES if role.family == family]
        assert len({(role.dashes, role.marker) for role in kin}) == len(kin)  # tints of one family look alike else


def test_no_other_colour_looks_reserved_and_all_can_be_seen_on_white():
    free = [role.colour for role in roles.ROLES if not role.family] + [*roles.CATEGORIES, *roles.ramp(6), canvas.BACK]
    assert min(apart(one, other) for one in free for other in roles.RESERVED) > 18
    assert min(map(contrast, [*free, *roles.RESERVED])) > 2.99
    assert min(apart(*pair) for pair in combinations(roles.CATEGORIES, 2)) > 20


def test_a_ramp_goes_from_light_to_dark_in_steps_that_can_be_seen():
    for steps in (2, 4, 6):
        lightness = [lab(linear(colour))[0] for colour in roles.ramp(steps)]
        assert (np.diff(lightness) < -6).all()
    with pytest.raises(ValueError, match="at least one"):
        roles.ramp(0)


def test_relatives_of_one_tint_differ_even_where_one_comes_twice():
    labels = "tanh", "tanh, orthogonal", "IRNN, not clipped", "IRNN, clipped"
    looks = roles.looks(labels)
    assert [look["gid"] for look in looks[1:]] == ["role-orthogonal-rnn", "role-irnn", "role-irnn"]
    assert len({(look["color"], str(look["linestyle"])) for look in looks}) == 4
    assert len({look["marker"] for look in looks}) == 4
    assert len(roles.looks(["GRU"] * 12)) == 12
    gate, other = roles.looks(["input gate", "adds everything"])
    assert gate["color"] == roles.CATEGORIES[0] and other["color"] == roles.CATEGORIES[1]


def test_a_label_that_is_no_step_stands_apart_from_the_ramp():
    steps, drawn = ["−1", "1"], roles.looks(["−1", "1", "chrono", "LSTM"], ordered=["−1", "1"])
    assert [look["color"] for look in drawn] == [*roles.ramp(2), roles.CATEGORIES[0], roles.BY_NAME["lstm"].colour]
    assert drawn[:2] == roles.looks(steps, ordered=True)
    assert len({(str(look["linestyle"]), look["marker"]) for look in drawn[:3]}) == 3
    with pytest.raises(ValueError, match="ordered has '2'"):
        roles.looks(steps, ordered=["2"])


def test_labels_of_one_role_share_its_colour_and_differ_otherwise():
    looks = roles.looks(["GRU, 32", "GRU, 128", "12-gram", "8-gram", "a", "b"])
    assert looks[0]["color"] == looks[1]["color"] and looks[2]["color"] == looks[3]["color"] == roles.BLACK
    assert len({(look["color"], str(look["linestyle"]), look["marker"]) for look in looks}) == 6
    before, after = roles.looks(["before training", "after"])
    assert before["markerfacecolor"] == "white" and "markerfacecolor" not in after and before["color"] == after["color"]
    for wrong in ({"a": "grue"}, {"c": "gru"}):
        with pytest.raises(ValueError, match="roles has"):
            roles.looks(["a"], roles=wrong)
