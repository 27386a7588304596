"""The rooms of the library stand on floors: each imports only from those below, and loads no more than it needs."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

LIBRARY = ROOT / "lib" / "unrolled"
FLOORS = ["settings", "records", "text", "ngram", "cells", "cost", "bptt", "symbolic", "models"]  # upwards
FLOORS += ["decoding", "measure", "training", "tasks", "checks", "figures", "__main__"]
ROOMS = {path.stem for path in LIBRARY.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
HEAVY = {"matplotlib", "ipywidgets", "sympy", "pooch", "scipy.stats"}


def imports(path: Path) -> set[str]:
    """Return the full names of everything that a file imports, wherever it does so; of a notebook, its cells."""
    names, code = set(), path.read_text(encoding="utf8")
    if path.suffix == ".ipynb":
        code = "\n".join("".join(c["source"]) for c in json.loads(code)["cells"] if c["cell_type"] == "code")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("room", sorted(ROOMS - {"__init__"}))
def test_a_room_imports_only_from_itself_and_from_rooms_below(room):
    """So there is no cycle either. Figures draw what they are given, and import from no other room."""
    allowed = {room, "__version__"} | set(FLOORS[: FLOORS.index(room)] if room != "figures" else [])
    for path in sorted((LIBRARY / room).glob("**/*.py")) or [LIBRARY / f"{room}.py"]:
        named = imports(path)
        strangers = {name.split(".")[1] for name in named if name.startswith("unrolled.")} - allowed
        assert not strangers, f"{path.relative_to(ROOT)} imports {sorted(strangers)}; allowed are {sorted(allowed)}"
        assert not [name for name in named if name.startswith((".", "lab."))], path


@pytest.mark.parametrize("room, heavy", [("training", HEAVY), ("records", {"torch", "matplotlib", "pooch"})])
def test_a_room_loads_nothing_heavy_that_it_can_do_without(room, heavy):
    code = f"import sys, unrolled.{room}; print(*{heavy} & set(sys.modules))"
    assert not subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_no_notebook_imports_the_laboratory():
    for path in ROOT.glob("*s/*.ipynb"):
        assert not [name for name in imports(path) if f"{name}.".startswith("lab.")], path
