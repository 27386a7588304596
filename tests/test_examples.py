"""The examples in docstrings run as they are written, and every public class of the library has one."""

import doctest
import importlib
import inspect
import os
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import pytest

import lab
import unrolled

ROOMS = [module.name for module in pkgutil.iter_modules(unrolled.__path__)]
MODULES = [module.name for module in pkgutil.walk_packages(unrolled.__path__, "unrolled.")]
MODULES += [module.name for module in pkgutil.walk_packages(lab.__path__, "lab.")]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    for variable in [variable for variable in os.environ if variable.startswith("UNROLLED_")]:
        monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name), optionflags=FLAGS).failed == 0


def public_classes(module: ModuleType) -> Iterator[type]:
    """Yield the classes that a module offers, also by a module in its `__all__`, but no protocols and no exceptions."""
    for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
        offered = getattr(module, name)
        if inspect.ismodule(offered) and hasattr(module, "__all__"):
            yield from public_classes(offered)
        elif (
            inspect.isclass(offered)
            and (offered.__module__ or "").startswith(module.__name__)
            and not issubclass(offered, BaseException)
            and not getattr(offered, "_is_protocol", False)
        ):
            yield offered


@pytest.mark.parametrize("room", sorted(set(ROOMS) - {"__main__"}))  # not for readers
def test_every_public_class_has_an_example(room):
    classes = public_classes(importlib.import_module(f"unrolled.{room}"))
    assert [cls.__qualname__ for cls in classes if ">>>" not in (cls.__doc__ or "")] == []
