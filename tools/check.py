"""Validate the book: lint, build, tests, and proof that none of it changed a file of the project."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUFF = [sys.executable, "-m", "ruff"]
LINT = [*RUFF, "check", "--quiet", "--no-cache", "--output-format=concise", "."]
FORMAT = [
    *RUFF,
    "format",
    "--quiet",
    "--no-cache",
    "--check",
    "lib",
    "tests",
    "tools",
    "benchmarks",
    "chapters",
    "solutions",
]
BOOK = [sys.executable, "tools/book.py"]
PYTEST = [sys.executable, "-m", "pytest", "tests", "chapters", "-p", "no:cacheprovider", "--durations=10"]
PYTEST += ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=120"]


def tree() -> str | None:
    """Return the state of the working tree, or None where the folder is no git checkout."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        return None
    asked = (["git", "status", "--porcelain"], ["git", "diff", "HEAD"])
    told = [subprocess.run(ask, cwd=ROOT, capture_output=True, text=True, errors="replace") for ask in asked]
    return "".join(answer.stdout for answer in told)


def stage(name: str, command: list[str]) -> int:
    """Run one stage, say what it took unless it speaks last, and return its status."""
    started = time.monotonic()
    print(f"== {name}", flush=True)
    status = subprocess.run(command, cwd=ROOT).returncode
    if command is not PYTEST:
        print(f"== {name}: {'FAILED after' if status else ''} {time.monotonic() - started:.0f} s", flush=True)
    return status


def main() -> int:
    """Run the stages in order and stop at the first that fails."""
    before = tree()
    for name, command in (("lint", LINT), ("format", FORMAT), ("book", BOOK), ("tests", PYTEST)):
        if status := stage(name, command):
            return status
        if tree() != before:
            print(f"FAILED: '{name}' changed the project's own files; git status shows which", flush=True)
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
