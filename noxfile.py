"""The library's tests on every supported Python found here, and with the newest packages: part of ``make compat``."""

from pathlib import Path

import nox

nox.options.envdir = "_build/nox"
nox.options.error_on_missing_interpreters = False  # a Python that is not here is skipped, with a message

TESTS = ("python", "-m", "pytest", "tests", "-q", "-p", "no:cacheprovider", "-m", "not book")


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """Run the tests with the pinned packages."""
    session.install("--requirement", "requirements.txt", "--constraint", "constraints.txt", "--editable", ".")
    session.run(*TESTS)


@nox.session
def newest(session: nox.Session) -> None:
    """Run the tests with the newest of everything but Jupyter Book."""
    pins = (line.split("#")[0].strip() for line in Path("requirements.txt").read_text(encoding="utf8").splitlines())
    names = (pin if pin.startswith("jupyter-book") else pin.split("==")[0] for pin in pins if pin)
    session.install(*names, "--editable", ".")
    session.run(*TESTS)
