"""Plant a mistake: a module of the library with one line of its source, or of what it shares, replaced."""

import inspect
import sys
import types
from unittest import mock

from unrolled.bptt import common


def with_mistake(module: types.ModuleType, right: str, wrong: str) -> types.ModuleType:
    """Return a module of backward passes by hand with the text `right`, which must stand there once, replaced.

    What the module takes from `bptt.common` is replaced as well, where the text stands there.
    """
    sources = {common.__name__: inspect.getsource(common), "mutant": inspect.getsource(module)}
    count = sum(source.count(right) for source in sources.values())
    assert count == 1, f"{right!r} stands {count} times in {module.__name__} and in what it shares; mend this test"
    mutants = {name: types.ModuleType(name) for name in sources}
    with mock.patch.dict(sys.modules, mutants):
        for name, source in sources.items():
            exec(compile(source.replace(right, wrong), name, "exec"), mutants[name].__dict__)
    return mutants["mutant"]
