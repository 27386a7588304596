"""Compare what the chapters print with what is stored: a pytest with nbval for each, two at a time."""

import sys

from execute import TIMEOUT, chapters
from side_by_side import side_by_side

# -rN: each failure once, also where CI is set and pytest would repeat the whole message in its summary
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", "-rN"]
NBVAL = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={TIMEOUT}"]


def main() -> int:
    """Print a line a chapter as it ends, then the whole report of each that failed; return 1 if any did."""
    commands = {path: [*PYTEST, *NBVAL, path] for path in chapters()}
    reports = []
    for number, chapter in enumerate(side_by_side(commands), start=1):
        summary = chapter.said.rpartition("\n")[2].strip("= ")
        outcome = summary if chapter.status in (0, 1) else f"exit status {chapter.status}"
        print(f"[{number}/{len(commands)}] {chapter.path.stem:<32} {outcome}", flush=True)
        if chapter.status:
            reports.append(f"{chapter.path.stem}, exit status {chapter.status}:\n{chapter.said}")
    print(*reports, sep="\n\n", end="\n" if reports else "")
    return bool(reports)


if __name__ == "__main__":
    raise SystemExit(main())
