"""The library's pages have every name that a reader meets: what the rooms export, and what notebooks import."""

import ast
import importlib
import inspect
import json
from functools import cache

import pytest
from sphinx.util.inventory import InventoryFile

from extensions import docstrings
from places import ROOT

pytestmark = pytest.mark.book
PAGES = sorted(ROOT.glob("pages/api/[!i]*.md"))
NOTEBOOKS = sorted(path for folder in ("chapters", "solutions") for path in ROOT.glob(f"{folder}/*.ipynb"))


@pytest.fixture(scope="module")
def names(html) -> dict[str, str]:
    """The names that the pages explain, each with its place."""
    with (html / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda _, place: place)
    kinds = [kind for kind in inventory if kind.startswith("py:")]
    return {name: place for kind in kinds for name, (_, _, place, _) in inventory[kind].items()}


def exported(room: str) -> set[str]:
    """Return the full names of the functions and classes that a room exports, also in modules that it exports."""
    module = importlib.import_module(f"unrolled.{room}")
    names = set()
    for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
        thing = getattr(module, name)
        if inspect.ismodule(thing) and hasattr(module, "__all__"):
            inner = {n: t for n, t in vars(thing).items() if getattr(t, "__module__", "") == thing.__name__}
            names |= {f"{thing.__name__}.{n}" for n, t in inner.items() if not n.startswith("_") and callable(t)}
        elif (inspect.isfunction(thing) or inspect.isclass(thing)) and thing.__module__.startswith(module.__name__):
            names.add(f"unrolled.{room}.{name}")
    return names


def imported(code: str) -> set[str]:
    """Return the full names that code imports from the library."""
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in nodes if (node.module or "").startswith("unrolled")]
    return {f"{node.module}.{alias.name}" for node in ours for alias in node.names}


@cache
def used() -> set[str]:
    """Return the functions and classes that notebooks import."""
    names = set()
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text(encoding="utf8"))["cells"]:
            if cell["cell_type"] == "code":
                names |= imported("".join(cell["source"]))
    things = {name: importlib.import_module(name.rpartition(".")[0]) for name in names}
    return {name for name, module in things.items() if callable(getattr(module, name.rpartition(".")[2], None))}


@pytest.mark.parametrize("room", [path.stem for path in PAGES])
def test_every_name_that_a_room_exports_is_on_its_page(names, room):
    missing = sorted(name for name in exported(room) if name not in names)
    assert not missing, f"not on the page of {room}: {', '.join(missing)}"
    assert len(exported(room)) > 1


def test_every_name_that_a_notebook_imports_is_on_a_page(names):
    objects = dict.fromkeys(names)
    assert [name for name in sorted(used()) if not docstrings.documented(name, "", objects)] == []
    assert len(used()) > 50


def test_equations_of_docstrings_are_links(html):
    for room, label in (("cells", "eq-gru-update"), ("bptt", "eq-delta-h"), ("ngram", "eq-kneser-ney")):
        assert f'#equation-{label}"' in (html / "pages" / "api" / f"{room}.html").read_text(encoding="utf8"), room


def test_a_chapter_links_the_functions_that_it_names(html):
    page = (html / "chapters" / "13-modern-recurrence.html").read_text(encoding="utf8")
    assert page.count('href="../pages/api/cells.html#unrolled.cells.scan"') == 1


def test_equations_become_code_in_which_only_references_are_markup_and_what_is_returned_is_no_type():
    lines = [
        "Do a step.",
        "",
        "    h_t = a * b_   (:eq:`eq-rnn`)",
        "",
        "Args:",
        "    x: the input, *raw*.",
        "",
        "Returns:",
    ]
    made = docstrings.prepared(lines)
    assert made[2:5] == [".. parsed-literal::", "", r"    h\_t = a \* b\_   :eq:`eq-rnn`"]
    assert made[-4:] == ["Args:", "    x: the input, *raw*.", "", ":returns:"]


@pytest.mark.parametrize(
    "target, name",
    [
        ("unrolled.cells.base.Cell.step", "unrolled.cells.Cell.step"),
        ("cells.unroll", "unrolled.cells.unroll"),
        ("Cell", "unrolled.cells.Cell"),
        ("sample", None),
        ("torch.Tensor", None),
    ],
)
def test_a_name_leads_to_where_readers_import_it_from(target, name):
    objects = dict.fromkeys(["unrolled.cells.Cell", "unrolled.cells.Cell.step", "unrolled.cells.unroll"])
    assert docstrings.documented(target, "unrolled.decoding", objects) == name
