"""Try the book elsewhere: on other processors, among Colab's packages, in a course. Slow, so by hand: ``make compat``.

The environment with Colab's packages is left under _build/compat, for a look. Other Pythons and the newest packages are
tried by noxfile.py.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from python_discovery import get_interpreter  # as nox finds its Pythons

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "_build" / "compat"

# Colab's Python, and what it has of what the book needs (its published list of 2026-08), torch apart: ours is as good.
COLAB_PYTHON = "3.13"
COLAB = ["ipywidgets==7.7.1", "IPython==7.34.0", "ipykernel==6.17.1", "numpy==2.1.3", "matplotlib==3.10.0"]
COLAB += ["torch==2.13.0", "sympy", "tqdm", "pooch", "nbclient", "pyyaml"]

# What makes this processor round as others do: MKL's code for any, PyTorch without vector instructions, and both.
PROCESSORS = [{"MKL_CBWR": "COMPATIBLE"}, {"ATEN_CPU_CAPABILITY": "default"}]
PROCESSORS += [PROCESSORS[0] | PROCESSORS[1] | {"OMP_NUM_THREADS": "1"}]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def run(*command: str | Path, **settings: str) -> int:
    """Run a command in the project's folder with more environment variables, and return its status."""
    return subprocess.run([str(word) for word in command], cwd=ROOT, env={**os.environ, **settings}).returncode


def processors() -> list[str]:
    """Compare every chapter's outputs, and the figures that it draws, with those stored; return what failed."""
    compare = ["chapters", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=600"]
    compare += ["tests/book/test_pictures.py::test_the_files_are_the_figures_that_the_chapter_draws"]
    failed = []
    for settings in PROCESSORS:
        name = " ".join(f"{variable}={value}" for variable, value in settings.items())
        figures = PLACE / "figures"
        shutil.rmtree(figures, ignore_errors=True)
        print(f"Processors: {name}", flush=True)
        failed += [name] if run(*PYTEST, *compare, **settings, UNROLLED_FIGURES=str(figures)) else []
    return failed


def interpreter() -> str:
    """Return a Python of Colab's version, or this one and a line that says so; a shim that runs none is none."""
    if found := get_interpreter(COLAB_PYTHON):
        return found.executable
    print(f"Colab: no Python {COLAB_PYTHON} runs here, so it is tried on {platform.python_version()}", flush=True)
    return sys.executable


def environment() -> Path | None:
    """Make a fresh environment with Colab's packages and return its Python, or None where they do not install."""
    folder = PLACE / "colab"
    shutil.rmtree(folder, ignore_errors=True)
    if run(interpreter(), "-m", "venv", folder):
        return None
    python = folder / "bin" / "python"
    return None if run(python, "-m", "pip", "install", "--quiet", *COLAB) else python


def packages(python: Path) -> dict[str, str]:
    """Return what is installed beside a Python, name to version."""
    command = [python, "-m", "pip", "list", "--format=freeze"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(line.split("==", 1) for line in listed.stdout.splitlines() if "==" in line)


def colab() -> list[str]:
    """Run every chapter, and all solutions, each alone in a folder, among Colab's packages; return what failed.

    The bootstrap cell installs the library from this checkout, which may bring packages that are missing, and replaces
    none.
    """
    python = environment()
    if not python:
        return ["Colab's packages do not install"]
    library = PLACE / "library"  # a copy, so that building it leaves nothing beside the original
    shutil.rmtree(library, ignore_errors=True)
    shutil.copytree(ROOT / "lib", library / "lib")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, library)
    before, failed = packages(python), []
    for notebook in sorted(path for folder in ("chapters", "solutions") for path in ROOT.glob(f"{folder}/*.ipynb")):
        if run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "unrolled"):
            failed.append("pip uninstall")
        name = notebook.relative_to(ROOT).with_suffix("")
        with tempfile.TemporaryDirectory() as alone:  # Colab has the notebook and nothing else of the book
            shutil.copy2(notebook, alone)
            status = run(python, "tools/execute.py", Path(alone, notebook.name), UNROLLED_ADDRESS=str(library))
        print(f"Colab, {name}: {'FAILED' if status else 'runs'}", flush=True)
        failed += [f"Colab: {name}"] if status else []
    after = packages(python)
    replaced = [f"{name} {old} by {after.get(name)}" for name, old in before.items() if after.get(name) != old]
    added = sorted(set(after) - set(before))
    print(f"Colab: the bootstrap cell added {', '.join(added)}", flush=True)
    return failed + [f"Colab: replaced {what}" for what in replaced]


def grading() -> list[str]:
    """Have nbgrader release, collect and grade the exercises of every chapter; return what failed."""
    notebooks = " ".join(path.stem for path in sorted(ROOT.glob("solutions/*.ipynb")))
    return ["grading"] if run(*PYTEST, "tests/book/test_grading.py", UNROLLED_GRADED=notebooks) else []


PARTS = {"processors": processors, "colab": colab, "grading": grading}


def main() -> int:
    """Run one part or all, and return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=PARTS, help="run only this part")
    part = parser.parse_args().part
    failed = [failure for name in ([part] if part else PARTS) for failure in PARTS[name]()]
    print("compat: " + (f"FAILED: {', '.join(failed)}" if failed else "all pass"), flush=True)
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
