"""``python tools/notebooks``: see `commands`."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # tools/, where the package is, in place of the package

from notebooks.commands import main  # noqa: E402

raise SystemExit(main())
