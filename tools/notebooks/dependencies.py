"""What a chapter depends on: its code, what that imports of the library, the records that it names, pins, switches.

Prose does not count, nor do the library's docstrings and comments, nor the scripts and the style sheet of the
playground, which a page loads by itself.
"""

import ast
import hashlib
import os
import re
from collections.abc import Iterable
from functools import cache
from modulefinder import ModuleFinder
from pathlib import Path
from types import CodeType

import nbformat

from notebooks.running import ROOT, ChapterError

RECORDS = "lib/unrolled/**/*.json"
DATA = (".toml", ".txt")  # the endings of what modules read beside them
PINS = ("requirements.txt", "constraints.txt")
SWITCHES = ("UNROLLED_PROFILE", "UNROLLED_DEVICE", "UNROLLED_SEED", "UNROLLED_THREADS")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def key(notebook: Path) -> str:
    """Return a hash of everything that decides a notebook's outputs.

    Raises:
        ChapterError: a code cell is no Python.
    """
    cells = [cell.source for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    code = "\n".join(cells)
    try:
        tree, compiled = ast.parse(code), compile(code, notebook.name, "exec")
    except SyntaxError as error:
        raise ChapterError(f"{notebook.stem} is no Python (a magic? a shell command?): {error}") from None
    library = modules(compiled)
    parts = cells + [f"{path.relative_to(ROOT)} {_code(path.read_text('utf8'))}" for path in library]
    for path in (*data(library), *records(tree), *(ROOT / name for name in PINS)):
        parts.append(f"{path.relative_to(ROOT)} {path.read_text('utf8')}")
    parts.append(repr([os.environ.get(name) for name in SWITCHES]))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def modules(code: CodeType) -> list[Path]:
    """Return the files of the library's modules that compiled code imports, itself or through other modules."""
    finder = ModuleFinder([str(ROOT / "lib")])
    finder.scan_code(code, finder.add_module("__main__"))
    return sorted(Path(module.__file__) for module in finder.modules.values() if module.__file__)


def data(library: Iterable[Path]) -> list[Path]:
    """Return the data files of the rooms that are among some modules."""
    rooms = {path.parent for path in library if path.name == "__init__.py"}
    files = [path for path in sorted(ROOT.glob("lib/unrolled/**/*")) if path.suffix in DATA]
    return [path for path in files if _room(path) in rooms]


def records(tree: ast.AST) -> list[Path]:
    """Return the records whose names stand in code as a text, or are what an f-string with a text in it can become."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.append(re.escape(node.value))
        elif isinstance(node, ast.JoinedStr) and any(isinstance(part, ast.Constant) for part in node.values):
            parts = [re.escape(part.value) if isinstance(part, ast.Constant) else ".*" for part in node.values]
            names.append("".join(parts))
    named = re.compile("|".join(names))
    return [path for path in sorted(ROOT.glob(RECORDS)) if named.fullmatch(path.stem)]


@cache
def _code(source: str) -> str:
    """Return what a module does, without its docstrings and comments."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return ast.dump(tree)


def _room(path: Path) -> Path | None:
    """Return the folder of the package to which a file belongs."""
    return next((folder for folder in path.parents if (folder / "__init__.py").is_file()), None)
