"""What the command line can do, command by command; `unrolled.__main__` puts them together.

`measuring` has the commands of the experiments and their records, `using` those that let trained models write, answer
and be scored, and the one that fetches corpora. `parsing` is what both share.
"""

from unrolled.commands import measuring, using
from unrolled.commands.parsing import Parser

__all__ = ["Parser", "measuring", "using"]
