"""A command line: a parser that helps, and one way to end, whatever went wrong."""

import argparse
import difflib
import os
import re
import shlex
import sys
from typing import NoReturn

from unrolled.training import distributed


class Parser(argparse.ArgumentParser):
    """A parser that takes whole words only, and suggests one where a wrong word is near it."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        near = difflib.get_close_matches(wrong[1], re.findall(r"[\w-]+", wrong[2]), n=1) if wrong else []
        super().error(message + "".join(f"; did you mean {word!r}?" for word in near))


def execute(parser: argparse.ArgumentParser, arguments: list[str] | None = None) -> int:
    """Do what the command line asks, and return the exit code; what went wrong is said in a line.

    Args:
        parser: whose commands set ``do``, a function of the arguments; and ``resumable``, where the same command goes
            on after it was stopped: what would take less memory.
        arguments: the words; those of this process where None.

    Returns:
        0; 1 when something failed, 2 when the command asks for what cannot be, 130 after Ctrl-C, 143 after SIGTERM.
    """
    words = sys.argv[1:] if arguments is None else arguments
    try:
        try:
            return _do(parser, words)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever reads the output, as `head` does, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as if SIGPIPE had ended it


def _do(parser: argparse.ArgumentParser, words: list[str]) -> int:
    """Return the exit code of `execute`, whose output may still have to be flushed."""
    parsed = parser.parse_args(words)
    program = parser.prog.rpartition(" ")[2]
    try:
        parsed.do(parsed)
    except BrokenPipeError:
        raise
    except (ValueError, LookupError, OSError, RuntimeError, MemoryError) as error:
        message = _out_of_memory(parsed) if _lacks_memory(error) else str(error)
        print(f"{program}: {message}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    except (KeyboardInterrupt, SystemExit) as stop:
        print(f"\n{program}: stopped", end="", file=sys.stderr)
        if "resumable" in parsed:
            again = [word for word in words if word not in ("--fresh", "--resume")]
            again += ["--resume"] if "resume" in parsed else []
            start = "torchrun …" if distributed.launched() else "python"
            print(f"; go on with: {start} -m {program} {shlex.join(again)}", end="", file=sys.stderr)
        print(file=sys.stderr)
        return stop.code if isinstance(stop, SystemExit) else 130
    return 0


def _lacks_memory(error: Exception) -> bool:
    """Return whether there was not enough memory; PyTorch says so in several ways."""
    message = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in message or "allocate memory" in message


def _out_of_memory(parsed: argparse.Namespace) -> str:
    """Return what would take less memory."""
    if "resumable" not in parsed:
        return "out of memory; close other programs"
    return f"out of memory; close other programs, or {parsed.resumable}; the last checkpoint stays as it was"
