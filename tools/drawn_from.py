"""Find out, without running anything, which records each figure of a chapter is drawn from.

A name in a chapter's code comes from the records that ``experiments.recorded`` put into it, and from those of the names
it was made of. So it is followed from statement to statement and from cell to cell, up to ``plots.save``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import gallery


class Sources:
    """Which records the names of a chapter come from, as far as its code has been read.

    Attributes:
        opened: the records that it reads.
        of: the records behind each name.
        parts: the names that a loop's variable is a part of.

    Args:
        experiments: the names of all experiments.
    """

    def __init__(self, experiments: list[str]):
        self.experiments = experiments
        self.opened: set[str] = set()
        self.of: dict[str, set[str]] = {}
        self.parts: dict[str, set[str]] = {}

    def read(self, code: str) -> set[str]:
        """Go through a cell; return the records that the figure it saves is drawn from."""
        tree, drawn = ast.parse(code), set()
        self.constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        for statement in tree.body:
            self._follow(statement)
            for node in ast.walk(statement):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "plots.save":
                    drawn |= self._behind(node)
        return drawn

    def _follow(self, statement: ast.stmt) -> None:
        """Note what a statement does to names."""
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._put(target, self._behind(value), anew=True)
            case ast.AugAssign(target=target, value=value):
                self._put(target, self._behind(value), anew=False)
            case ast.FunctionDef(name=name):
                self.of[name] = self._behind(statement)
            case ast.For(target=target, iter=over, body=body):
                self._put(target, self._behind(over), anew=True)
                for name in _names(target):
                    self.parts[name] = set(_names(over))
                for inner in body:
                    self._follow(inner)
            case ast.If(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
                for inner in (*body, *orelse):
                    self._follow(inner)
            case ast.With(body=body):
                for inner in body:
                    self._follow(inner)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=holder), args=given)):  # rows.append(…)
                if isinstance(holder, ast.Name) and holder.id in self.of:
                    for value in given:
                        self._put(holder, self._behind(value), anew=False)

    def _put(self, target: ast.expr, records: set[str], anew: bool) -> None:
        """Let what is assigned to come from these records; where only a part is assigned to, from them as well."""
        for element in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            if isinstance(element, ast.Name) and anew:
                self.of[element.id] = set(records)
                self.parts.pop(element.id, None)
            else:
                for name in _names(element)[:1]:  # the name that is changed comes first: rows[label] = …
                    for changed in (name, *self.parts.get(name, ())):
                        self.of[changed] = self.of.get(changed, set()) | records

    def _behind(self, node: ast.AST) -> set[str]:
        """Return the records behind a piece of code: those that it reads, and those behind its names."""
        own = {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
        own |= {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
        records = set().union(*(self.of.get(name, set()) for name in _names(node) if name not in own))
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "experiments.recorded":
                opened = self._meant(call.args[0])
                self.opened |= opened
                records |= opened
        return records

    def _meant(self, name: ast.expr) -> set[str]:
        """Return the experiments that a name may mean: the cell's own strings tell what a variable stands for."""
        match name:
            case ast.JoinedStr(values=values):
                pattern = "".join(re.escape(part.value) if isinstance(part, ast.Constant) else ".*" for part in values)
                return {each for each in self.experiments if re.fullmatch(pattern, each)}
            case ast.Constant(value=value):
                return {value} & set(self.experiments)
        return self.constants & set(self.experiments)


def _names(node: ast.AST) -> list[str]:
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]


@dataclass
class Use:
    """Where the book uses a record.

    Attributes:
        chapters: the notebooks that read it.
        figures: those that are drawn from it.
    """

    chapters: list[Path] = field(default_factory=list)
    figures: list[gallery.Figure] = field(default_factory=list)


def uses(notebooks: Iterable[Path], experiments: list[str]) -> dict[str, Use]:
    """Return where chapters use the record of each experiment, in the order of the notebooks and their cells."""
    uses = {name: Use() for name in experiments}
    for notebook in notebooks:
        figures = {figure.name: figure for figure in gallery.figures(notebook)}
        sources = Sources(experiments)
        for cell in json.loads(notebook.read_text(encoding="utf8"))["cells"]:
            if cell["cell_type"] == "code":
                code = "".join(cell["source"])
                for record in sources.read(code):
                    uses[record].figures += [figures[name] for name in gallery.saved_names(code)]
        for record in sources.opened:
            uses[record].chapters.append(notebook)
    return uses
