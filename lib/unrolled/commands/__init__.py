"""What the command line can do: let trained models write, answer and be scored, and fetch corpora.

`using` has these commands. `line` is the parser and the way to end that they share with the laboratory's.
"""

from unrolled.commands import using
from unrolled.commands.line import Parser, execute

__all__ = ["Parser", "execute", "using"]
