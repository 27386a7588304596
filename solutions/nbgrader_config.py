"""How nbgrader makes assignments of these notebooks, and how it grades them.

Copy this file to the top of a course's folder. ``make exercises`` takes its steps from
here too, so that a course releases what the book shows.
"""

import re
import textwrap

from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
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

# No submission may stop the others: so many seconds for a cell, so many bytes in all.
c.Execute.timeout = 120
BYTES = 4 * 2**30
LIMIT = f"import resource; resource.setrlimit(resource.RLIMIT_DATA, [{BYTES}] * 2)"
c.Execute.extra_arguments = [f"--IPKernelApp.exec_lines={LIMIT}"]
