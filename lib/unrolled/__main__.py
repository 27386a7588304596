"""The command line: ``python -m unrolled list | run | show | records | sample | answer | corpora | score``."""

# ruff: noqa: E402 (Ctrl-C has to be provided for before PyTorch is imported, which takes seconds)

from __future__ import annotations

import os
import signal

BY_DEFAULT = signal.getsignal(signal.SIGINT)
if __name__ == "__main__" and BY_DEFAULT is signal.default_int_handler:  # else Ctrl-C is ignored, and stays so
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # nothing has begun that would have to be ended in order

import argparse
import shlex
import sys

from unrolled import experiments, settings
from unrolled.commands import Parser, measuring, using
from unrolled.training import distributed

_MAIN = """\
examples:
  python -m unrolled list                             which experiments there are
  python -m unrolled show rnn-windows                 what the book's record of one says
  python -m unrolled run rnn-windows                  measure it again, on this machine
  python -m unrolled records                          measure what the book's records lack
  python -m unrolled sample rnn-windows --prompt "The "      let its model write
  python -m unrolled answer phonemes recurrence      let its model pronounce a word
  python -m unrolled corpora tiny-shakespeare         fetch a real corpus and verify it
  python -m unrolled score model.py                   what a model of your own pays, by the book's protocol

COMMAND --help tells more of each. The exit code is 0 when all went well, 1 when something failed, 2 when the command
asks for what cannot be, 130 after Ctrl-C and 143 after SIGTERM."""


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    main = Parser(
        prog="python -m unrolled",
        description="The experiments behind the book's records, and the real corpora.",
        epilog=_MAIN,
    )
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    measuring.add(commands)
    using.add(commands)
    return main


def _lacks_memory(error: Exception) -> bool:
    """Return whether there was not enough memory; PyTorch says so in several ways."""
    message = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in message or "allocate memory" in message


def _lower(arguments: argparse.Namespace) -> str:
    """Return what would take less memory."""
    advice, stays = ["close other programs"], ""
    if arguments.command == "run":
        stays = "; the last checkpoint stays as it was"
        if settings.profile() == "full":
            advice.append("take --profile quick")
        configs = experiments.find(arguments.name).contenders[settings.profile()].values()
        recipes = [config["recipe"] for config in configs if "recipe" in config]
        if recipes:
            largest = max(recipes, key=lambda recipe: recipe["batch"] * recipe["seq_len"])
            sizes = " or ".join(f"{size} (now {largest[size]})" for size in ("batch", "seq_len"))
            advice.append(f"lower {sizes} in the experiment's configuration")
    return f"out of memory; {', or '.join(advice)}{stays}"


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks, and return the exit code; what went wrong is said in a line."""
    try:
        try:
            return _do(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever reads the output, as `head` does, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as if SIGPIPE had ended it


def _do(arguments: list[str] | None) -> int:
    """Return the exit code of `main`, whose output may still have to be flushed."""
    words = sys.argv[1:] if arguments is None else arguments
    parsed = parser().parse_args(words)
    try:
        parsed.do(parsed)
    except BrokenPipeError:
        raise
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        print(f"unrolled: {_lower(parsed) if _lacks_memory(error) else error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    except (KeyboardInterrupt, SystemExit) as stop:
        print("\nunrolled: stopped", end="", file=sys.stderr)
        if parsed.command in ("run", "records"):
            again = [word for word in words if word not in ("--fresh", "--resume")]
            again += ["--resume"] if parsed.command == "run" else []
            start = "torchrun …" if distributed.launched() else "python"
            print(f"; go on with: {start} -m unrolled {shlex.join(again)}", end="", file=sys.stderr)
        print(file=sys.stderr)
        return stop.code if isinstance(stop, SystemExit) else 130
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, BY_DEFAULT)
    sys.exit(main())
