"""The book elsewhere: ``make compat``. Slow, so it is done by hand.

The library's tests on every supported Python found here, and with the newest packages; the chapters as other processors
round, and all notebooks among Colab's packages; the exercises of every chapter graded.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import nox
from nox.command import CommandFailed
from python_discovery import get_interpreter  # as nox finds its Pythons

ROOT = Path(__file__).resolve().parent.parent  # where every session goes first: nox begins where this file is
nox.options.envdir = str(ROOT / "_build" / "nox")
nox.options.error_on_missing_interpreters = False  # a Python that is not here is skipped, with a message

BUILD = ROOT / "_build" / "compat"
PYTEST = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")

# What makes this processor round as others do: MKL's code for any, PyTorch without vector instructions, and both.
PROCESSORS = [{"MKL_CBWR": "COMPATIBLE"}, {"ATEN_CPU_CAPABILITY": "default"}]
PROCESSORS += [PROCESSORS[0] | PROCESSORS[1] | {"OMP_NUM_THREADS": "1"}]

# Colab's Python, and what it has of what the book needs (its published list of 2026-08), torch apart: ours is as good.
COLAB_PYTHON = "3.13"
COLAB = ["ipywidgets==7.7.1", "IPython==7.34.0", "ipykernel==6.17.1", "numpy==2.1.3", "matplotlib==3.10.0"]
COLAB += ["torch==2.13.0", "sympy", "tqdm", "pooch", "nbclient"]


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """Run the tests with the pinned packages."""
    session.chdir(ROOT)
    session.install("--requirement", "requirements.txt", "--constraint", "constraints.txt", "--editable", ".")
    session.run(*PYTEST, "tests", "-m", "not book")


@nox.session
def newest(session: nox.Session) -> None:
    """Run the tests with the newest of everything but Jupyter Book."""
    session.chdir(ROOT)
    pins = (line.split("#")[0].strip() for line in Path("requirements.txt").read_text(encoding="utf8").splitlines())
    names = (pin if pin.startswith("jupyter-book") else pin.split("==")[0] for pin in pins if pin)
    session.install(*names, "--editable", ".")
    session.run(*PYTEST, "tests", "-m", "not book")


@nox.session(venv_backend="none")
@nox.parametrize("settings", PROCESSORS, ids=[" ".join(f"{k}={v}" for k, v in each.items()) for each in PROCESSORS])
def processors(session: nox.Session, settings: dict[str, str]) -> None:
    """Compare every chapter's outputs, and the figures that it draws, with those stored."""
    session.chdir(ROOT)
    figures = BUILD / "figures"
    shutil.rmtree(figures, ignore_errors=True)
    compare = ["chapters", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=600"]
    compare += ["tests/book/test_pictures.py::test_the_files_are_the_figures_that_the_chapter_draws"]
    session.run(sys.executable, *PYTEST[1:], *compare, env=settings | {"UNROLLED_FIGURES": str(figures)})


@nox.session(python=COLAB_PYTHON if get_interpreter(COLAB_PYTHON) else None)
def colab(session: nox.Session) -> None:
    """Run every chapter, and all solutions, each alone in a folder, among Colab's packages.

    Without Colab's Python it is tried on the one that runs this. The bootstrap cell installs the library from a copy of
    this checkout, which may bring packages that are missing, and replaces none.
    """
    session.chdir(ROOT)
    session.install(*COLAB)
    library = BUILD / "library"  # a copy, so that building it leaves nothing beside the original
    shutil.rmtree(library, ignore_errors=True)
    shutil.copytree("lib", library / "lib")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(name, library)
    before, failures = packages(session), []
    for notebook in sorted(path for folder in ("chapters", "solutions") for path in Path(folder).glob("*.ipynb")):
        session.run("python", "-m", "pip", "uninstall", "--quiet", "--yes", "unrolled")
        with tempfile.TemporaryDirectory() as alone:  # Colab has the notebook and nothing else of the book
            copy = shutil.copy2(notebook, alone)
            try:
                session.run("jupyter", "execute", "--timeout=600", copy, env={"UNROLLED_ADDRESS": str(library)})
            except CommandFailed:
                failures.append(str(notebook))
    after = packages(session)
    session.log(f"the bootstrap cell added {', '.join(sorted(after.keys() - before.keys()))}")
    failures += [
        f"{name} {old} replaced by {after.get(name)}" for name, old in before.items() if after.get(name) != old
    ]
    if failures:
        session.error(f"among Colab's packages: {', '.join(failures)}")


def packages(session: nox.Session) -> dict[str, str]:
    """Return what is installed in a session's environment, name to version."""
    listed = session.run("python", "-m", "pip", "list", "--format=freeze", silent=True, log=False)
    return dict(line.split("==", 1) for line in listed.splitlines() if "==" in line)


@nox.session(venv_backend="none")
def grading(session: nox.Session) -> None:
    """Have nbgrader release, collect and grade the exercises of every chapter."""
    session.chdir(ROOT)
    notebooks = " ".join(path.stem for path in sorted(Path("solutions").glob("*.ipynb")))
    session.run(sys.executable, *PYTEST[1:], "tests/book/test_grading.py", env={"UNROLLED_GRADED": notebooks})
