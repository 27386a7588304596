"""The command line: ``python -m unrolled train | sample | answer | corpora | score``."""

# ruff: noqa: E402 (Ctrl-C has to be provided for before PyTorch is imported, which takes seconds)

import os
import signal

BY_DEFAULT = signal.getsignal(signal.SIGINT)
if __name__ == "__main__" and BY_DEFAULT is signal.default_int_handler:  # else Ctrl-C is ignored, and stays so
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # nothing has begun that would have to be ended in order

import argparse
import sys

from unrolled.commands import Parser, execute, own, using

_MAIN = """\
examples:
  python -m unrolled train my.txt                                 train a model on a text of your own
  python -m unrolled sample runs/my --prompt "The "               let a trained model write
  python -m unrolled answer runs/phonemes recurrence              let one pronounce a word
  python -m unrolled corpora tiny-shakespeare                     fetch a real corpus and verify it
  python -m unrolled score model.py                               what a model of your own code pays

COMMAND --help tells more of each. The exit code is 0 when all went well, 1 when something failed, 2 when the command
asks for what cannot be, 130 after Ctrl-C and 143 after SIGTERM."""


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    main = Parser(
        prog="python -m unrolled",
        description="Models of your own text, trained models, and the real corpora.",
        epilog=_MAIN,
    )
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    own.add(commands)
    using.add(commands)
    return main


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks, and return the exit code; what went wrong is said in a line."""
    return execute(parser(), arguments)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, BY_DEFAULT)
    sys.exit(main())
