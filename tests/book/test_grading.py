"""A course with nbgrader, by the commands of teaching.md: what each student gets, and that none can stop the others."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

import exercises
import teaching
from exercise_cases import SOLUTIONS, mistakes, role
from places import ROOT

pytestmark = pytest.mark.book
GRADED = os.environ.get("UNROLLED_GRADED", "02-vanilla-rnn").split()  # `make compat` grades all


def shell(folder, script: str) -> tuple[int, str]:
    """Run commands in a folder, as in an activated environment; return the status and what they say."""
    settings = {"JUPYTER_CONFIG_DIR": str(folder / "jupyter"), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    settings["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["sh", "-e", "-c", script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **settings})
    return done.returncode, done.stdout + done.stderr


def follow(folder, title: str, assignment: str = "02-vanilla-rnn", student: str = "ada") -> None:
    """Run the commands that the page for instructors gives below a heading, for this assignment and this student."""
    script = teaching.commands(title).replace("02-vanilla-rnn", assignment).replace("ada", student)
    status, output = shell(folder, script)
    assert status == 0, f"{title}:\n{script}\n{output}"


def hand_in(
    course, assignment: str, handed_in: dict[str, dict[str, str]], change=lambda student, notebook: None
) -> None:
    """Collect, for each student, the released notebook with some cells, by their ids, changed, and with one more."""
    name, folder = f"{assignment}.ipynb", course.parent / "handed-in"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for student, sources in handed_in.items():
        notebook = nbformat.read(course / "release" / assignment / name, as_version=4)
        for cell in notebook.cells:
            cell.source = sources.get(cell.id, cell.source)
        notebook.cells.append(nbformat.v4.new_markdown_cell(f"In the words of {student}."))
        change(student, notebook)
        nbformat.write(notebook, folder / f"{student}.ipynb")
    follow(course, "Collect", assignment)


def scores(course, assignment: str) -> dict[str, float]:
    """Return what the gradebook has for each student."""
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        return {submission.student.id: submission.score for submission in book.assignment_submissions(assignment)}


def autograded(course, assignment: str, student: str) -> dict[str, nbformat.NotebookNode]:
    """Return the cells of a graded submission by their nbgrader ids."""
    path = course / "autograded" / student / assignment / f"{assignment}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    return {cell.metadata.nbgrader.grade_id: cell for cell in cells if "nbgrader" in cell.metadata}


def errors(cells) -> list[str]:
    """Return the names of the errors in which cells have ended."""
    return [output.ename for cell in cells for output in cell.get("outputs", []) if output.output_type == "error"]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course's folder with its configuration, beside the book's."""
    folder = tmp_path_factory.mktemp("term")
    (folder / "unrolled").symlink_to(ROOT)
    follow(folder, "The course")
    return folder / "course"


@pytest.mark.parametrize("name", GRADED)
def test_a_chapter_is_released_collected_and_graded(course, name):
    solutions = SOLUTIONS[name]
    parts = exercises.split(solutions)[1]
    right = {cell.id: cell.source for cell in solutions.cells if role(cell, "solution")}
    edited = {cell.id: "pass  # nothing to see here" for cell in solutions.cells if role(cell, "grade")}
    one_mistake = dict(right)
    for part in parts[1::2]:
        planted = ((cell.id, wrong) for cell in part.cells for _, wrong in mistakes(cell.source))
        one_mistake.update([next(planted)])

    follow(course, "An assignment", name)
    released = course / "release" / name / f"{name}.ipynb"
    assert nbformat.read(released, as_version=4) == nbformat.read(ROOT / "exercises" / f"{name}.ipynb", as_version=4)
    hand_in(course, name, {"ada": right, "ben": edited, "cleo": one_mistake})
    follow(course, "Grade", name)

    points = [{"easy": 1, "medium": 2, "hard": 3}[part.difficulty] for part in parts]
    expected = {"ada": sum(points), "ben": 0, "cleo": sum(points[::2])}
    with (course / "grades.csv").open(encoding="utf8") as file:
        exported = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file) if row["assignment"] == name}
    assert scores(course, name) == exported == expected
    assert not errors(autograded(course, name, "ada").values()), "every cell runs, those of the open task too"
    checks = {cell.id: cell.source for part in parts for cell in part.cells if role(cell, "grade")}
    ben, cleo = autograded(course, name, "ben"), autograded(course, name, "cleo")
    assert {given: ben[given].source for given in checks} == checks, "an edited check is the original again"
    failed = [set(errors(cleo[cell.id] for cell in part.cells if cell.id in cleo)) for part in parts]
    assert failed == [{"AssertionError"} if number % 2 else set() for number in range(len(parts))]
    assert "In the words of cleo." in (course / "feedback" / "cleo" / name / f"{name}.html").read_text("utf8")


RIGHT = "def double(x):\n    return x + x"
HANDED_IN = {
    "a-right": RIGHT,
    "b-endless": "def double(x):\n    while True:\n        pass",
    "c-greedy": "def double(x):\n    kept = []\n    while True:\n        kept.append(bytes(2**30))",
    "d-deadly": "def double(x):\n    import os\n    os._exit(1)",
    "e-right": RIGHT,
    "f-copied": RIGHT,
    "g-split": RIGHT,
    "h-deleted": RIGHT,
    "i-bare": RIGHT,
    "j-other": RIGHT,
    "k-warns": f"import sys, warnings\nwarnings.warn('beware')\n{RIGHT}".replace(
        "return", "print(x, file=sys.stderr); return"
    ),
    "l-wrong (2)": "def double(x):\n    return x",
}


def changed(student: str, notebook: nbformat.NotebookNode) -> None:
    """Do to a notebook what students and platforms do to cells."""
    cells = notebook.cells
    answer, check = cells[:2]
    if student == "f-copied":
        cells[1:1] = [nbformat.from_dict({**check, "id": "copy"}), nbformat.from_dict({**answer, "id": "again"})]
    elif student == "g-split":
        first, rest = answer.source.split("\n")
        answer.source = f"{first}\n    pass"
        cells.insert(1, nbformat.from_dict({**answer, "id": "rest", "source": f"{first}\n{rest}"}))
    elif student == "h-deleted":
        del cells[:2]
        cells.insert(0, nbformat.v4.new_code_cell(RIGHT))
    elif student in ("i-bare", "j-other"):
        cells[:] = [nbformat.v4.new_code_cell(cell.source) for cell in cells if cell.cell_type == "code"]
        if student == "j-other":
            cells[1:] = []


def test_no_submission_stops_the_others_and_who_hands_in_again_is_graded_again(course):
    name = "small"
    cells = [
        nbformat.v4.new_code_cell("### BEGIN SOLUTION\n### END SOLUTION", id="double"),
        nbformat.v4.new_code_cell("assert double(3) == 6, 'twice three is six'", id="double-checks"),
        nbformat.v4.new_code_cell("assert True, 'a point for coming'", id="present"),
    ]
    for cell, solution in zip(cells, (True, False, False), strict=True):
        roles = {"grade": not solution, "grade_id": cell.id, "locked": not solution, "schema_version": 3}
        cell.metadata["nbgrader"] = roles | {"solution": solution, "task": False} | ({} if solution else {"points": 1})
    (course / "source" / name).mkdir(parents=True)
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), course / "source" / name / f"{name}.ipynb")
    shell(course, f"nbgrader generate_assignment {name}")
    hand_in(course, name, {student: {"double": source} for student, source in HANDED_IN.items()}, changed)
    follow(course, "Late", name, student="e-right")
    status, output = shell(course, f"nbgrader autograde {name} --Execute.timeout=3")
    assert status and "error processing assignment 'small' for student 'd-deadly'" in output
    assert "j-other: no cell of small.ipynb is one that was handed out" in output
    assert "h-deleted: double-checks is back" in output
    expected = dict.fromkeys(("a-right", "e-right", "f-copied", "g-split", "h-deleted", "i-bare", "k-warns"), 2)
    expected |= {"b-endless": 1, "c-greedy": 1, "d-deadly": 0, "j-other": 0, "l-wrong": 1}
    assert scores(course, name) == expected, "who is late loses nothing unless it is asked for"
    for student, error in {"b-endless": "CellTimeoutError", "c-greedy": "MemoryError"}.items():
        assert error in errors(autograded(course, name, student).values())

    hand_in(course, name, {"b-endless": {"double": RIGHT}})
    follow(course, "Again", name, student="b-endless")
    expected["b-endless"] = 2
    assert scores(course, name) == expected
    assert (course / "feedback" / "b-endless" / name / f"{name}.html").is_file()

    source = course / "source" / name / f"{name}.ipynb"  # a check is mended: only a wrong answer passes now
    source.write_text(source.read_text("utf8").replace("double(3) == 6", "double(3) == 3"), "utf8")
    for student in set(HANDED_IN) - {"a-right", "l-wrong (2)"}:
        shutil.rmtree(course / "submitted" / student)
    follow(course, "Mended", name)
    assert {**scores(course, name), **expected, "a-right": 1, "l-wrong": 2} == scores(course, name)


def test_all_commands_of_the_page_are_followed_here():
    followed = ("The course", "An assignment", "Collect", "Grade", "Late", "Again", "Mended")
    assert teaching.commands("Grade with nbgrader") == "".join(teaching.commands(title) for title in followed)
