"""How nbgrader makes assignments of these notebooks, and how it grades them.

Copy this file to the top of a course's folder. ``make exercises`` takes its steps from
here too, so that a course releases what the book shows.
"""

import copy
import os
import re
import textwrap
from pathlib import Path

import nbformat
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    Execute,
    LimitOutput,
    LockCells,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
    SaveCells,
)

HINT = re.compile(r"^ *### HINT (.+)$", re.MULTILINE)
FOLDED = "Replace this by your answer; three hints unfold below the exercise."


class HintedStubs(ClearSolutions):
    """Put a stub where a solution was; it raises with the hint that stood there."""

    def preprocess_cell(self, cell, resources, cell_index):
        lines = textwrap.wrap(" ".join(HINT.findall(cell.source)) or FOLDED, 74)
        hint = ' "\n    "'.join(line.replace('"', r"\"") for line in lines)
        stub = f'# Your code goes here.\nraise NotImplementedError(\n    "{hint}"\n)'
        self.code_stub = {"python": stub}
        self.text_stub = "*Your report goes here.*"
        return super().preprocess_cell(cell, resources, cell_index)


class AsReleased(NbGraderPreprocessor):
    """Give a submission the cells that were released, however it was handed in.

    Of a cell that was copied or split, the last part counts. A check that was deleted
    comes back. A cell that lost its metadata is known by its identifier or, if it is a
    check, by its source.
    """

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        name, assignment = names["notebook"], names["assignment"]
        release = nbformat.read(Path("release", assignment, f"{name}.ipynb"), 4).cells
        release = {
            cell.metadata.nbgrader.grade_id: cell
            for cell in release
            if "nbgrader" in cell.metadata
        }
        same_id = {cell.get("id"): known for known, cell in release.items()}
        same_source = {
            cell.source: known
            for known, cell in release.items()
            if cell.metadata.nbgrader.locked
        }
        there = {}
        for cell in reversed(nb.cells):
            known = cell.metadata.pop("nbgrader", {}).get("grade_id")
            known = known or same_id.get(cell.get("id")) or same_source.get(cell.source)
            if known in release and known not in there:
                there[known] = cell
                cell.metadata["nbgrader"] = dict(release[known].metadata.nbgrader)
        if not there:
            raise ValueError(
                f"{names['student']}: no cell of {name}.ipynb is one that was handed "
                "out; ask for the notebook as it was downloaded, and collect it again"
            )
        place = len(nb.cells)  # of a check that comes back: before what followed it
        for known, cell in reversed(release.items()):
            if known in there:
                place = next(i for i, one in enumerate(nb.cells) if one is there[known])
            elif cell.metadata.nbgrader.grade:
                self.log.warning("%s: %s is back", names["student"], known)
                nb.cells.insert(place, copy.deepcopy(cell))
        return nb, resources


class SpareWarnings(NbGraderPreprocessor):
    """Take what a cell wrote to stderr, such as a warning, for plain output.

    To nbgrader it would be a failure.
    """

    def preprocess_cell(self, cell, resources, cell_index):
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                output.name = "stdout"
        return cell, resources


c = get_config()  # noqa: F821  nbgrader provides it

# SaveCells puts the cells into the gradebook, hidden tests included, before they are
# cleared.
c.GenerateAssignment.preprocessors = [
    LockCells,
    HintedStubs,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    SaveCells,
    ClearHiddenTests,
    ComputeChecksums,
]

c.Autograde.sanitize_preprocessors = [
    ClearOutput,
    AsReleased,
    OverwriteKernelspec,
    OverwriteCells,
    CheckCellMetadata,
]
c.Autograde.autograde_preprocessors = [
    Execute,
    SpareWarnings,
    LimitOutput,
    SaveAutoGrades,
    AssignLatePenalties,
    CheckCellMetadata,
]
os.environ.pop("PYTHONOPTIMIZE", None)  # or no check would check anything

# No submission may stop the others: so many seconds for a cell, so many bytes in all.
c.Execute.timeout = 120
BYTES = 4 * 2**30
LIMIT = f"import resource; resource.setrlimit(resource.RLIMIT_DATA, [{BYTES}] * 2)"
c.Execute.extra_arguments = [f"--IPKernelApp.exec_lines={LIMIT}"]
