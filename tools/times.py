"""Write how long the book takes, `exercises/total.md`: the sums of what chapters and exercises say of themselves.

``make chapters`` and ``make exercises`` call `write`; nothing else changes the file.
"""

import json
import re
from pathlib import Path

import nbformat

from exercises import split

SAID = re.compile(r"Reading\s+takes\s+about\s+([^;.]+)")
IN_WORDS = {
    "half an hour": 30,
    "forty minutes": 40,
    "three quarters of an hour": 45,
    "forty-five minutes": 45,
    "fifty minutes": 50,
    "fifty-five minutes": 55,
    "an hour": 60,
    "an hour and a quarter": 75,
    "an hour and a half": 90,
}


def reading(chapter: Path) -> int:
    """Return how many minutes a chapter says that its reading takes.

    Raises:
        ValueError: its first cells do not say it, or in words that are not known here.
    """
    cells = json.loads(chapter.read_text(encoding="utf8"))["cells"][:2]
    said = SAID.search("\n".join("".join(cell["source"]) for cell in cells))
    time = " ".join(said[1].split()) if said else "nothing"
    if number := re.fullmatch(r"(\d+) minutes", time):
        return int(number[1])
    if time not in IN_WORDS:
        raise ValueError(f"{chapter.name}: 'Reading takes about {time}'; right are {', '.join(IN_WORDS)} and '55 minutes'")
    return IN_WORDS[time]


def hours(minutes: int) -> str:
    """Return a time in hours, to the next half.

    >>> hours(45), hours(300), hours(380)
    ('1 hour', '5 hours', '6½ hours')
    """
    whole, half = divmod(round(minutes / 30), 2)
    return f"{whole}{'½' * half} hour{'s' * (whole + half > 1)}"


def sentence(root: Path) -> str:
    """Return how long the chapters and the exercises below `root` take."""
    chapters = sorted((root / "chapters").glob("*.ipynb"))
    parts = [split(nbformat.read(path, as_version=4))[1] for path in sorted((root / "solutions").glob("*.ipynb"))]
    exercises = [exercise for part in parts for exercise in part]
    return (
        f"**It takes** about {hours(sum(map(reading, chapters)))} to read {len(chapters)} chapters, and about "
        f"{hours(sum(exercise.minutes for exercise in exercises))} to solve all {len(exercises)} exercises.\n"
    )


def write(root: Path) -> Path:
    """Write the sentence below `root`, and return its path."""
    path = root / "exercises" / "total.md"
    path.write_text(sentence(root), encoding="utf8")
    return path
