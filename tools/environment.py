"""Make ``.venv`` with everything that builds and validates the book, or say in one line what stands in the way.

Any Python 3 can run this file; the one that does becomes the environment's. A stamp is written last, so that an
installation that was interrupted starts over, and one that is complete takes no time.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")


def obstacle(version, has_venv):
    """Return why a Python of this version cannot make the environment, or None; Debian ships ``ensurepip`` apart."""
    name, why = "%d.%d" % version, None
    if not (3, 11) <= version <= (3, 13):
        why = "Python %s cannot build the book: it needs 3.11, 3.12 or 3.13" % name
    elif not has_venv:
        why = "Python %s lacks venv. On Debian: apt install python%s-venv" % (name, name)
    return why and why + "; or name another one: make book PYTHON=python3.12"


def fingerprint():
    """Return a hash of all that decides what is installed: the pins, the package's metadata, the Python."""
    text = sys.version
    for name in ("requirements.txt", "constraints.txt", "pyproject.toml"):
        with open(os.path.join(ROOT, name), encoding="utf8") as file:
            text += file.read().split("[tool.ruff", 1)[0]  # how the code is linted installs nothing
    return hashlib.sha256(text.encode()).hexdigest()


def main():
    """Bring ``.venv`` up to date."""
    why = obstacle(sys.version_info[:2], importlib.util.find_spec("ensurepip") is not None)
    if why:
        raise SystemExit(why)
    stamp, now = os.path.join(VENV, "unrolled-complete"), fingerprint()
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
