"""Try the book elsewhere: on other Pythons, with the newest packages, among Colab's, in a course. By hand: it is slow.

Each part makes environments under _build/compat and leaves them there, for a look.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "_build" / "compat"
PYTHONS = ("3.11", "3.12", "3.13")
LIBRARY_TESTS = ["-m", "pytest", "tests", "-q", "-p", "no:cacheprovider", "-m", "not book"]

# What Colab has installed of what the book needs (its published list of 2026-08), torch apart: ours is as good.
COLAB = ["ipywidgets==7.7.1", "IPython==7.34.0", "ipykernel==6.17.1", "numpy==2.1.3", "matplotlib==3.10.0"]
COLAB += ["torch==2.13.0", "sympy", "tqdm", "pooch", "nbclient", "pyyaml"]


def run(*command: str | Path, **settings: str) -> int:
    """Run a command in the project's folder with more environment variables, and return its status."""
    return subprocess.run([str(word) for word in command], cwd=ROOT, env={**os.environ, **settings}).returncode


def environment(name: str, python: str, *packages: str) -> Path | None:
    """Make a fresh environment with these packages and return its Python, or None where they do not install."""
    folder = PLACE / name
    shutil.rmtree(folder, ignore_errors=True)
    if run(python, "-m", "venv", folder):
        return None
    inside = folder / "bin" / "python"
    return None if run(inside, "-m", "pip", "install", "--quiet", *packages) else inside


def pythons() -> list[str]:
    """Run the library's tests with the pins on every supported Python found here; return what failed."""
    failed = []
    for version in PYTHONS:
        python = shutil.which(f"python{version}")
        if not python:
            print(f"Python {version}: not found here, not tried", flush=True)
            continue
        inside = environment(version, python, "-r", "requirements.txt", "-c", "constraints.txt", "-e", ".")
        good = inside and not run(inside, *LIBRARY_TESTS)
        print(f"Python {version}: {'passes' if good else 'FAILED'}", flush=True)
        failed += [] if good else [f"Python {version}"]
    return failed


def newest() -> list[str]:
    """Run the library's tests with the newest of everything but Jupyter Book; return what failed."""
    pins = (line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines())
    names = [pin if pin.startswith("jupyter-book") else pin.split("==")[0] for pin in pins if pin]
    inside = environment("newest", sys.executable, *names, "-e", ".")
    return [] if inside and not run(inside, *LIBRARY_TESTS) else ["newest packages"]


def packages(python: Path) -> dict[str, str]:
    """Return what is installed beside a Python, name to version."""
    asked = [python, "-m", "pip", "list", "--format=freeze"]
    listed = subprocess.run(asked, capture_output=True, text=True, check=True)
    return dict(line.split("==", 1) for line in listed.stdout.splitlines() if "==" in line)


def colab() -> list[str]:
    """Run every chapter, and all solutions, among Colab's packages through its own bootstrap cell; return what failed.

    The library comes from this checkout, and may bring packages that are missing but replace none.
    """
    inside = environment("colab", sys.executable, *COLAB)
    if not inside:
        return ["Colab's packages do not install"]
    library = PLACE / "library"  # a copy, so that building it leaves nothing beside the original
    shutil.rmtree(library, ignore_errors=True)
    shutil.copytree(ROOT / "lib", library / "lib")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, library)
    before, failed = packages(inside), []
    for notebook in sorted(path for folder in ("chapters", "solutions") for path in ROOT.glob(f"{folder}/*.ipynb")):
        if run(inside, "-m", "pip", "uninstall", "--quiet", "--yes", "unrolled"):
            failed.append("pip uninstall")
        name = notebook.relative_to(ROOT).with_suffix("")
        work = PLACE / "work" / f"{name}.ipynb"
        work.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(notebook, work)
        good = not run(inside, "tools/execute.py", work, UNROLLED_ADDRESS=str(library))
        print(f"Colab, {name}: {'runs' if good else 'FAILED'}", flush=True)
        failed += [] if good else [f"Colab: {name}"]
    after = packages(inside)
    replaced = [f"{name} {old} by {after.get(name)}" for name, old in before.items() if after.get(name) != old]
    added = sorted(set(after) - set(before))
    print(f"Colab: the bootstrap cell added {', '.join(added)}", flush=True)
    return failed + [f"Colab: replaced {what}" for what in replaced]


def grading() -> list[str]:
    """Have nbgrader release, collect and grade the exercises of every chapter; return what failed."""
    notebooks = " ".join(path.stem for path in sorted(ROOT.glob("solutions/*.ipynb")))
    command = [sys.executable, "-m", "pytest", "tests/test_grading.py", "-q", "-p", "no:cacheprovider"]
    return ["grading"] if run(*command, UNROLLED_GRADED=notebooks) else []


PARTS = {"pythons": pythons, "newest": newest, "colab": colab, "grading": grading}


def main() -> int:
    """Run the parts named and return 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all unless told otherwise")
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}; there are: {', '.join(PARTS)}")
    failed = [what for part in parts for what in PARTS[part]()]
    print("compat: " + (f"FAILED: {', '.join(failed)}" if failed else "all pass"), flush=True)
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
