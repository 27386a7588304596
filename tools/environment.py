"""Make ``.venv`` with everything that builds and validates the book, or say in one line what stands in the way.

Any Python 3 can run this file; the one that does becomes the environment's. A stamp is written after the last
step only, so an installation that was interrupted starts over, and one that is complete takes no time.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, "unrolled-complete")
LOG = os.path.join(VENV, "pip.log")
OLDEST, NEWEST = (3, 11), (3, 13)


def obstacle(version, has_venv):
    """Return why an environment cannot be made by a Python of this version, or None.

    Args:
        version: (major, minor) of the Python that runs.
        has_venv: whether its ``venv`` and ``ensurepip`` modules are there.
    """
    name = "%d.%d" % version
    if not OLDEST <= version <= NEWEST:
        return (
            "Python %s cannot build the book: it needs 3.11, 3.12 or 3.13. Where one is installed, name it: "
            "make book PYTHON=python3.12" % name
        )
    if not has_venv:
        return (
            "Python %s lacks its venv module. On Debian or Ubuntu: apt install python%s-venv; or name another "
            "Python: make book PYTHON=python3.12" % (name, name)
        )
    return None


def can_make_environments():
    """Return whether this Python has both modules (Debian ships them apart)."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return False
    return True


def fingerprint():
    """Return a hash of all that decides what is installed: the pins, the package's metadata, the Python."""
    digest = hashlib.sha256(sys.version.encode())
    for name in ("requirements.txt", "constraints.txt", "pyproject.toml"):
        with open(os.path.join(ROOT, name), encoding="utf8") as file:
            text = file.read()
        digest.update(text.split("[tool.ruff", 1)[0].encode())  # how the code is linted installs nothing
    return digest.hexdigest()


def stamp():
    """Return the fingerprint of the environment that is there, or None where it is absent or incomplete."""
    try:
        with open(STAMP, encoding="utf8") as file:
            return file.read()
    except OSError:
        return None


def install(python):
    """Install the pins and the library (editable), counting packages as pip collects them.

    Raises:
        SystemExit: pip failed; the message holds pip's own errors.
    """
    command = [python, "-m", "pip", "install", "--requirement", "requirements.txt"]
    command += ["--constraint", "constraints.txt", "--editable", "."]
    seen = 0
    with open(LOG, "w", encoding="utf8") as log:
        pip = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        for line in pip.stdout:
            log.write(line)
            step = re.match(r"(?:Collecting|Processing) (\S+)|(Installing collected packages)", line)
            if step:
                seen += bool(step.group(1))
                name = os.path.basename(step.group(1) or "installing them")
                name = re.split(r"[<>=!~;\[(]", name)[0]
                if sys.stdout.isatty():
                    print("\r  %3d packages: %-50s" % (seen, name[:50]), end="", flush=True)
                elif seen % 25 == 0 or step.group(2):
                    print("  %3d packages: %s" % (seen, name), flush=True)
    if sys.stdout.isatty():
        print()
    if pip.wait():
        with open(LOG, encoding="utf8") as log:
            lines = log.read().splitlines()
        errors = [line for line in lines if line.startswith("ERROR")] or lines[-5:]
        raise SystemExit(
            "\n".join(errors) + "\nThe installation failed (pip's whole log: .venv/pip.log). "
            "Once the cause is gone, the same command starts it over."
        )


def main():
    """Bring ``.venv`` up to date."""
    why = obstacle(sys.version_info[:2], can_make_environments())
    if why:
        raise SystemExit(why)
    current, installed = fingerprint(), stamp()
    if installed == current:
        return
    print("Installing into .venv with Python %d.%d (some minutes the first time)" % sys.version_info[:2], flush=True)
    import venv

    if installed:
        os.remove(STAMP)
    shutil.rmtree(VENV, ignore_errors=True)
    try:
        venv.create(VENV, with_pip=True)
        install(os.path.join(VENV, "bin", "python"))
    except KeyboardInterrupt:
        raise SystemExit("\nInterrupted: the next run starts the installation over.") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit("Making .venv failed: %s" % error) from None
    with open(STAMP, "w", encoding="utf8") as file:
        file.write(current)


if __name__ == "__main__":
    main()
