"""What the command line can do: train on a text of one's own, let models write, answer and be scored, fetch corpora.

`own` trains, and `using` has what trained models and corpora are used for. `line` is the parser and the way to end that
they share with the laboratory's.
"""

from unrolled.commands import own, using
from unrolled.commands.line import Parser, execute

__all__ = ["Parser", "execute", "own", "using"]
