"""Make ``.venv`` with everything that builds and validates the book, or say in one line what stands in the way.

Any Python 3 can run this file; the one that does becomes the environment's. A stamp is written last, so that an
installation that was interrupted starts over, and one that is complete takes no time.
"""

import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")


def main():
    """Bring ``.venv`` up to date."""
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        say = "Python %d.%d cannot build the book: it needs 3.11, 3.12 or 3.13; name one: make book PYTHON=python3.12"
        raise SystemExit(say % sys.version_info[:2])
    decides = sys.version  # what is installed, with the pins and the package's metadata
    for name in ("requirements.txt", "constraints.txt", "pyproject.toml"):
        with open(os.path.join(ROOT, name), encoding="utf8") as file:
            decides += file.read().split("[tool.ruff", 1)[0]  # how the code is linted installs nothing
    now = hashlib.sha256(decides.encode()).hexdigest()
    stamp = os.path.join(VENV, "unrolled-complete")
    if os.path.isfile(stamp):
        with open(stamp, encoding="utf8") as file:
            if file.read() == now:
                return
    print("Installing into .venv with Python %d.%d (some minutes the first time)" % sys.version_info[:2], flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    python = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin", "python")
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--requirement", "requirements.txt"]
    pip += ["--constraint", "constraints.txt", "--editable", "."]
    for command in ([sys.executable, "-m", "venv", VENV], pip):
        if subprocess.call(command, cwd=ROOT):
            raise SystemExit("The installation failed, see above. Once the cause is gone, the same command repeats it.")
    with open(stamp, "w", encoding="utf8") as file:
        file.write(now)


if __name__ == "__main__":
    main()
