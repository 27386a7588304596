"""Lint the JavaScript and check its format, by Biome as lint_scripts.json says, whose version npm fetches once."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = Path(__file__).with_suffix(".json")
VERSION = re.search(r"/schemas/([\d.]+)/", SETTINGS.read_text(encoding="utf8"))[1]
FOLDER = ROOT / "_build" / f"biome-{VERSION}"
BIOME = FOLDER / "node_modules" / ".bin" / "biome"


def obstacle() -> str | None:
    """Return why Biome cannot be had, in a line; None where it is there, fetched now or before."""
    if BIOME.exists():
        return None
    if not (npm := shutil.which("npm")):
        return "npm is not installed"
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", FOLDER, f"@biomejs/biome@{VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True)
    return None if BIOME.exists() else f"npm install failed: {(done.stderr.strip() or 'no reason given')[-200:]}"


def main() -> None:
    """Lint, or say in a line why not; with ``UNROLLED_STRICT`` that is a failure."""
    if reason := obstacle():
        sys.exit(reason) if os.environ.get("UNROLLED_STRICT") else print(f"The scripts are not linted: {reason}.")
        return
    command = [BIOME, "check", "--error-on-warnings", f"--config-path={SETTINGS}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nIt may be put right by: {BIOME} check --write --config-path={SETTINGS}")


if __name__ == "__main__":
    main()
