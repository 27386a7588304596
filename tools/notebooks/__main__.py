"""``python tools/notebooks``: see `commands`."""

import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent
sys.path[:1] = [str(TOOLS), str(TOOLS.parent)]  # where this package is, and the laboratory, in place of the package

from notebooks.commands import main  # noqa: E402

raise SystemExit(main())
