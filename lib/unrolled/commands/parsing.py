"""A parser that helps, and the options that several commands share."""

from __future__ import annotations

import argparse
import difflib
import os
import re
from typing import NoReturn

from unrolled import settings


class Parser(argparse.ArgumentParser):
    """A parser that takes whole words only, and suggests one where a wrong word is near it."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        near = difflib.get_close_matches(wrong[1], re.findall(r"[\w-]+", wrong[2]), n=1) if wrong else []
        super().error(message + "".join(f"; did you mean {word!r}?" for word in near))


def add_place(command: argparse.ArgumentParser) -> None:
    """Add what says where a run is kept."""
    command.add_argument(
        "--profile",
        choices=settings.PROFILES,
        help="quick: minutes to an hour on a CPU; full: published sizes (default: UNROLLED_PROFILE, or quick)",
    )
    command.add_argument("--folder", default="runs", help="where runs are kept (default: %(default)s)")


def set_profile(arguments: argparse.Namespace) -> None:
    """Put the profile that was asked for, if any, in force."""
    os.environ["UNROLLED_PROFILE"] = arguments.profile or settings.profile()
