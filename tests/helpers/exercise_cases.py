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
from collections.abc import Iterator

import nbformat

import exercises
from places import ROOT

SOLUTIONS = {path.stem: nbformat.read(path, as_version=4) for path in sorted(ROOT.glob("solutions/*.ipynb"))}
PARTS = [exercises.split(notebook) for notebook in SOLUTIONS.values()]
CASES = {exercise.number: (before, exercise) for before, parts in PARTS for exercise in parts}
MISTAKE = re.compile(r"^ *### MISTAKE \((?P<name>[^)]+)\)(?: (?P<code>.+))?$")
ATTEMPT = re.compile(r"^# %% (?P<number>\S+) (?P<cell>\S+) \| (?P<verdict>right|wrong) \| (?P<name>.+)$", re.MULTILINE)


def role(cell, name: str) -> bool:
    """Return whether nbgrader's metadata gives a cell this role: "grade", "solution" or "locked"."""
    return bool(cell.metadata.get("nbgrader", {}).get(name))


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


def asked(exercise) -> Iterator[tuple[int, str, ast.AST]]:
    """Yield each function or name that a solution sets and a check uses: its cell's place, its name, and its code."""
    (checks,) = [ast.parse(cell.source) for cell in exercise.cells if role(cell, "grade")]
    names = [node for node in ast.walk(checks) if isinstance(node, ast.Name)]
    used = {name.id for name in names} - {name.id for name in names if isinstance(name.ctx, ast.Store)}
    for at, cell in enumerate(exercise.cells):
        region = re.search(r"### BEGIN SOLUTION(.*)### END SOLUTION", cell.source, re.DOTALL)
        for node in ast.parse(cell.source).body if role(cell, "solution") and region else []:
            named = getattr(node.targets[0], "id", "") if isinstance(node, ast.Assign) else getattr(node, "name", "")
            given = named in used and re.search(rf"^{named}\b", region[1], re.MULTILINE)
            if isinstance(node, ast.FunctionDef) or given:
                yield at, named, node


def followed(exercise, at: int, line: str) -> list:
    """Return an exercise's cells with a line of code after one of them; what comes before need not run again."""
    cells = copy.deepcopy(exercise.cells)
    return [*cells[: at + 1], nbformat.v4.new_code_cell(line, id=f"{cells[at].id}-again"), *cells[at + 1 :]]


def of_wrong_types(exercise) -> Iterator[tuple[str, list]]:
    """Yield an exercise's cells with None, a text or a list for each thing that its checks ask for."""
    for at, named, node in asked(exercise):
        if isinstance(node, ast.FunctionDef):
            head = ast.unparse(ast.FunctionDef(node.name, node.args, [ast.Pass()], [], lineno=0))
            wrong = {f"returns {value}": f"{head[:-4]}return {value}" for value in ("None", "'?'")}
        else:
            wrong = {f"is {value}": f"{named} = {value}" for value in ("None", "'?'", "[]")}
        for how, line in wrong.items():
            yield f"{named} {how}", followed(exercise, at, line)
