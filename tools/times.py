"""Read how long a chapter says that it takes, and say how long the book does."""

import json
import re
from pathlib import Path

SAID = re.compile(r"Reading\s+takes\s+about\s+([^;.]+)")
IN_WORDS = {"fifty minutes": 50, "an hour": 60, "an hour and a quarter": 75, "an hour and a half": 90}


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
        raise ValueError(f"{chapter.name} says that reading takes about {time!r}; right is '55 minutes', in figures")
    return IN_WORDS[time]


def hours(minutes: int) -> str:
    """Return a time in hours, to the next half.

    >>> hours(45), hours(300), hours(380)
    ('1 hour', '5 hours', '6½ hours')
    """
    whole, half = divmod(round(minutes / 30), 2)
    return f"{whole}{'½' * half} hour{'s' * (whole + half > 1)}"
