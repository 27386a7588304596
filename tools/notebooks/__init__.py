"""Run the book's notebooks: ``python tools/notebooks COMMAND``, where ``--help`` lists the commands.

`running` runs one notebook, `side_by_side` two at a time. `copies` keeps the executed copies of chapters, for as long
as what a chapter depends on (`dependencies`) stays. `commands` has the commands, and `gpu` a long one.
"""

from notebooks.copies import copy_of, executed, figures_of, is_fresh
from notebooks.running import ROOT, WIDGET, ChapterError, chapters, execute, load

__all__ = [
    "ROOT",
    "WIDGET",
    "ChapterError",
    "chapters",
    "copy_of",
    "execute",
    "executed",
    "figures_of",
    "is_fresh",
    "load",
]
