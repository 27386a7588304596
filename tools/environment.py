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
WAY_OUT = "name another one: make book PYTHON=python3.12"


def obstacle(version, has_venv):
    """Return why a Python of this version cannot make the environment, or None; Debian ships ``ensurepip`` apart."""
    name = "%d.%d" % version
    if not (3, 11) <= version <= (3, 13):
        return "Python %s cannot build the book: it needs 3.11, 3.12 or 3.13; %s" % (name, WAY_OUT)
    if not has_venv:
        return "Python %s lacks venv. On Debian: apt install python%s-venv; or %s" % (name, name, WAY_OUT)
    return None


def fingerprint():
    """Return a hash of all that decides what is installed: the pins, the package's metadata, the Python."""
    digest = hashlib.sha256(sys.version.encode())
    for name in ("requirements.txt", "constraints.txt", "pyproject.toml"):
        with open(os.path.join(ROOT, name), encoding="utf8") as file:
            text = file.read()
        digest.update(text.split("[tool.ruff", 1)[0].encode())  # how the code is linted installs nothing
    return digest.hexdigest()


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
    folder = "Scripts" if os.name == "nt" else "bin"
    pip = [os.path.join(VENV, folder, "python"), "-m", "pip", "install", "--disable-pip-version-check"]
    pip += ["--requirement", "requirements.txt", "--constraint", "constraints.txt", "--editable", "."]
    for command in ([sys.executable, "-m", "venv", VENV], pip):
        if subprocess.call(command, cwd=ROOT):
            raise SystemExit("The installation failed, see above. Once the cause is gone, the same command repeats it.")
    with open(stamp, "w", encoding="utf8") as file:
        file.write(now)


if __name__ == "__main__":
    main()
