"""The rooms of the library stand on floors: each imports only from those below, and loads no more than it needs."""

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from places import ROOT

LIBRARY = ROOT / "lib" / "unrolled"
FLOORS = ["settings", "whole_files", "records", "text", "ngram", "cells", "cost", "bptt", "symbolic", "models"]
FLOORS += ["decoding", "measure", "training", "tasks", "checks", "figures", "commands", "__main__"]  # upwards
PACKAGES = [room for room in FLOORS if (LIBRARY / room).is_dir()]
HEAVY = {"matplotlib", "ipywidgets", "sympy", "pooch", "scipy.stats"}
NOT_LOADED = {"training": HEAVY, "records": {"torch", "matplotlib", "pooch", "lab"}}


def imports(path: Path) -> set[str]:
    """Return the full names of everything that a file imports, wherever it does so; of a notebook, its cells."""
    names, code = set(), path.read_text(encoding="utf8")
    if path.suffix == ".ipynb":
        cells = json.loads(code)["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names}
    return names


def rooms(path: Path) -> set[str]:
    """Return the rooms that a file of the library imports from; its version is everybody's."""
    return {name.split(".")[1] for name in imports(path) if name.startswith("unrolled.")} - {"__version__"}


def files(room: str) -> list[Path]:
    """Return the files of a room."""
    return sorted((LIBRARY / room).glob("**/*.py")) or [LIBRARY / f"{room}.py"]


def test_every_room_has_its_floor():
    there = {path.stem for path in LIBRARY.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert there - {"__init__"} == set(FLOORS)


def test_contributing_lists_the_rooms_from_the_lowest_floor_to_the_highest():
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8").split("## The rooms")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == FLOORS


@pytest.mark.parametrize("room", FLOORS)
def test_a_room_imports_only_from_itself_and_from_rooms_below(room):
    """So there is no cycle either. Figures draw what they are given, and import from no other room."""
    allowed = {room} if room == "figures" else {room, *FLOORS[: FLOORS.index(room)]}
    for path in files(room):
        strangers = sorted(rooms(path) - allowed) + [name for name in imports(path) if name.startswith(".")]
        assert not strangers, f"{path.relative_to(ROOT)} imports {', '.join(strangers)}; allowed are {sorted(allowed)}"


@pytest.mark.parametrize("room", PACKAGES)
def test_a_room_exports_what_there_is_and_no_file_bears_the_name_of_a_function(room):
    names = vars(importlib.import_module(f"unrolled.{room}"))
    missing = set(names.get("__all__", ())) - set(names)
    assert not missing, f"unrolled.{room} has no {', '.join(missing)}"
    both = {path.stem for path in files(room)} & {name for name in names if not isinstance(names[name], ModuleType)}
    assert not both, f"in unrolled.{room}, {', '.join(both)} is a file and also something else"


@pytest.mark.parametrize("room", NOT_LOADED)
def test_a_room_loads_nothing_heavy_that_it_can_do_without(room):
    code = f"import sys, unrolled.{room}; print(*{NOT_LOADED[room]} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.split(), f"importing unrolled.{room} loads {done.stdout}"


def test_no_notebook_and_nothing_in_the_library_imports_the_laboratory():
    notebooks = [path for room in ("chapters", "exercises", "solutions") for path in (ROOT / room).glob("*.ipynb")]
    files = [*LIBRARY.rglob("*.py"), *notebooks]
    guilty = [str(path.relative_to(ROOT)) for path in files if any(f"{n}.".startswith("lab.") for n in imports(path))]
    assert len(notebooks) > 20 and "lab" in imports(ROOT / "lab" / "__main__.py")
    assert not guilty, f"the laboratory is imported in {', '.join(guilty)}"


def test_test_files_do_not_import_each_other():
    for path in (ROOT / "tests").rglob("*.py"):
        others = [name for name in imports(path) if name.startswith(("test_", "tests.", "."))]
        assert not others, f"{path.relative_to(ROOT)} imports {', '.join(others)}; shared code goes to tests/helpers"
