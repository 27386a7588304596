"""The exercises as the tests see them: each with the cells before it, and with each of its planted mistakes.

The mistakes that an exercise's checks must catch stand in its solution, each as a comment before the line that it would
spoil:

    ### MISTAKE (no tanh) return a
    return torch.tanh(a)

A long line may stand in a second comment, below the name. Where only hidden tests can catch a mistake, its name begins
with "hidden:", and the exercise says "Not checked here:" with the reason.

What students wrote stands in tests/attempts, each answer below a line with its exercise, its cell, whether it is right
or wrong, and its name:

    # %% 2.3 rnn-step | wrong | no tanh
"""

import ast
import copy
import re
import traceback
import warnings
from collections.abc import Iterator

import matplotlib
import nbformat
from matplotlib import pyplot as plt

import exercises
from places import ROOT

SOLUTIONS = {path.stem: nbformat.read(path, as_version=4) for path in sorted(ROOT.glob("solutions/*.ipynb"))}
PARTS = [exercises.split(notebook) for notebook in SOLUTIONS.values()]
CASES = {exercise.number: (before, exercise) for before, parts in PARTS for exercise in parts}
VISIBLE = {number: case for number, case in CASES.items() if number != "7.3"}  # it has no hints in folds
MISTAKE = re.compile(r"^ *### MISTAKE \((?P<name>[^)]+)\)(?: (?P<code>.+))?$")


ATTEMPT = re.compile(r"^# %% (?P<number>\S+) (?P<cell>\S+) \| (?P<verdict>right|wrong) \| (?P<name>.+)$", re.MULTILINE)
ANSWERS = str(ROOT / "lib" / "unrolled" / "answers.py")


def role(cell, name: str) -> bool:
    """Return whether nbgrader's metadata gives a cell this role: "grade", "solution" or "locked"."""
    return bool(cell.metadata.get("nbgrader", {}).get(name))


def run(cells) -> tuple[Exception | None, str]:
    """Run code cells in order, and return the first error with the id of the cell whose own line raised it.

    What helps the checks, `answers`, counts as theirs. The id is empty where the line is not a notebook's but another
    library's. A warning is an error, as it is to nbgrader.
    """
    space = {"__name__": "__main__"}
    with matplotlib.rc_context({"backend": "agg"}), warnings.catch_warnings(action="error"):
        try:
            for cell in cells:
                if cell.cell_type == "code":
                    exec(compile(cell.source, f"<{cell.id}>", "exec"), space)
        except Exception as error:
            files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
            where = [name for name in files if name != ANSWERS][-1]
            return error, where[1:-1] if where.startswith("<") else ""
        finally:
            plt.close("all")
    return None, ""


def mistakes(source: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each mistake that a solution's comments plant, and the solution with this mistake in it."""
    lines = source.split("\n")
    for at, line in enumerate(lines):
        if comment := MISTAKE.match(line):
            spoilt = next(n for n in range(at + 1, len(lines)) if not lines[n].lstrip().startswith("###"))
            indent = lines[spoilt][: len(lines[spoilt]) - len(lines[spoilt].lstrip())]
            code = comment["code"] or lines[at + 1].strip(" #")
            yield comment["name"], "\n".join([*lines[:spoilt], indent + code, *lines[spoilt + 1 :]])


def mutants(exercise) -> list[tuple[str, list]]:
    """Return the name and the cells of each version of an exercise that has one of its mistakes in it."""
    versions = []
    for at, cell in enumerate(exercise.cells):
        for name, source in mistakes(cell.source):
            cells = copy.deepcopy(exercise.cells)
            cells[at].source = source
            versions.append((name, cells))
    return versions


def visible(cells) -> list:
    """Return cells as a student has them: without the hidden tests."""
    shown = copy.deepcopy(cells)
    for cell in shown:
        cell.source = re.sub(r"### BEGIN HIDDEN TESTS.*?### END HIDDEN TESTS\n?", "", cell.source, flags=re.DOTALL)
    return shown


def answered(exercise, cell_id: str, answer: str) -> list:
    """Return an exercise's cells with this answer in one of them, below what is given there."""
    cells = copy.deepcopy(exercise.cells)
    (cell,) = [cell for cell in cells if cell.id == cell_id and role(cell, "solution")]
    given = cell.source.split("### BEGIN SOLUTION")[0]
    cell.source = answer if "def " in given else given + answer
    return cells


def attempts() -> Iterator[tuple[str, str, str, list]]:
    """Yield the exercise, the name, the verdict and the cells of each answer that a student wrote."""
    for path in sorted((ROOT / "tests" / "attempts").glob("*.py")):
        _, *parts = ATTEMPT.split(path.read_text(encoding="utf8"))
        for number, cell, verdict, name, answer in zip(*(parts[i::5] for i in range(5)), strict=True):
            yield number, f"{number} {cell}: {name}", verdict, answered(CASES[number][1], cell, answer.strip())


def of_wrong_types(exercise) -> Iterator[tuple[str, list]]:
    """Yield an exercise's cells with None, a text or a list for each thing that its checks ask for."""
    (checks,) = [ast.parse(cell.source) for cell in exercise.cells if role(cell, "grade")]
    names = [node for node in ast.walk(checks) if isinstance(node, ast.Name)]
    asked = {name.id for name in names} - {name.id for name in names if isinstance(name.ctx, ast.Store)}
    for cell in exercise.cells:
        region = re.search(r"### BEGIN SOLUTION(.*)### END SOLUTION", cell.source, re.DOTALL)
        if not (role(cell, "solution") and region):
            continue
        for node in ast.parse(cell.source).body:
            named = getattr(node.targets[0], "id", "") if isinstance(node, ast.Assign) else getattr(node, "name", "")
            if isinstance(node, ast.FunctionDef):
                for wrong in ("None", "'?'"):
                    head = ast.unparse(ast.FunctionDef(node.name, node.args, [ast.Pass()], [], lineno=0))
                    answer = f"{head}\n    return {wrong}"
                    yield f"{named} returns {wrong}", answered(exercise, cell.id, answer)
            elif named in asked and re.search(rf"^{named}\b", region[1], re.MULTILINE):
                for wrong in ("None", "'?'", "[]"):
                    changed = copy.deepcopy(exercise.cells)
                    (mine,) = [other for other in changed if other.id == cell.id]
                    mine.source += f"\n{named} = {wrong}"
                    yield f"{named} is {wrong}", changed
