"""Code libraries: one file each, holding only what differs from the base below.  Found by walking this package.

A dialect writes text; it never imports its library.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from orpipe.algebra import nodes as n
from orpipe.errors import NotFound
from orpipe.render.emit_layout import Doc, Statement, bracket, comment, loose, seq

if TYPE_CHECKING:
    from orpipe.render.emit import Writer


class Dialect:
    """How one library says it.  The base: variables in dictionaries by index, rows added one by one in loops.

    summation: the function that adds linear expressions.  aliases: Python names its programs bind.  on_model: variables
    are attributes of the model object, whose own attributes (`attributes`) are not free.  drops_unused: the library leaves
    out a variable that stands in no row and not in the objective, and gives it no value."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    summation: ClassVar[str] = "sum"
    aliases: ClassVar[frozenset[str]] = frozenset()
    on_model: ClassVar[bool] = False
    attributes: ClassVar[frozenset[str]] = frozenset()
    drops_unused: ClassVar[bool] = False
    optimal: ClassVar[str]
    objective_value: ClassVar[str]

    def imports(self, w: Writer) -> list[str]:
        raise NotImplementedError

    def create(self, w: Writer) -> list[Statement]:
        """The empty model object, called `model`."""
        raise NotImplementedError

    def column(self, w: Writer, v: n.VarDecl, name: str, lower: Doc | None, upper: Doc | None) -> Doc:
        """The call that makes one column.  name: a Python string expression; lower/upper None: infinite."""
        raise NotImplementedError

    def add_row(self, w: Writer, relation: Doc, name: str) -> Doc:
        raise NotImplementedError

    def set_objective(self, w: Writer, sense: n.Sense, value: Doc) -> list[Statement]:
        raise NotImplementedError

    def run(self, w: Writer) -> list[Statement]:
        """Solves; sets what `optimal` and `objective_value` read."""
        raise NotImplementedError

    def value(self, column: str) -> str:
        raise NotImplementedError

    def status(self, w: Writer) -> list[Statement]:
        """Prints «status = infeasible» and the like."""
        raise NotImplementedError

    def load(self, w: Writer) -> list[Statement]:
        """What must happen before values are read, once the optimum is known."""
        return []

    # -- shared by all but pyomo
    def declare(self, w: Writer, v: n.VarDecl) -> list[Statement]:
        at = w.binding(v.indices)
        name = w.names.variables[v.symbol]
        lower, upper = (None if b is None else w.expr(b, at) for b in (v.lower, v.upper))
        column = self.column(w, v, w.label(v.name, v.indices), lower, upper)
        if not v.indices:
            return [Statement(seq(f"{name} = ", column))]
        loops = w.loops(v.indices, w.membership(v))
        body = w.generator(seq(f"{w.key(v.indices)}: ", column), loops)
        return [Statement(bracket(f"{name} = {{", body, "}"))]

    def constrain(self, w: Writer, r: n.Row) -> list[Statement]:
        at = w.binding(r.forall)
        loops = w.loops(r.forall, r.where, at)
        out, level = [], 0
        for target, iterable in loops.over:
            out.append(Statement(f"for {target} in {iterable}:", level))
            level += 1
        if loops.conditions:
            out.append(Statement(seq("if ", loose(loops.condition), ":"), level))
            level += 1
        return [*out, Statement(self.add_row(w, w.relation(r, at), w.label(r.name, r.forall)), level)]

    def minimise_or_maximise(self, w: Writer, objective: n.Objective) -> list[Statement]:
        """One named Python expression a term, then their sum; a single term stands for itself."""
        if len(objective.terms) == 1:
            return [*comment(objective.terms[0].meaning), *self.set_objective(w, objective.sense, w.expr(objective.terms[0].expr, {}))]
        out: list[Statement] = []
        for term in objective.terms:
            body = term.expr.arg if isinstance(term.expr, n.Neg) else term.expr
            out += [*comment(term.meaning), Statement(seq(f"{w.names.terms[term.name]} = ", loose(w.expr(body, {}))))]
        return [*out, *self.set_objective(w, objective.sense, w.total(objective))]


_FOUND: dict[str, Dialect] = {}


def dialect(name: str) -> Callable[[type[Dialect]], type[Dialect]]:
    """Registers a dialect under `name`; a second one of that name raises."""
    def register(cls: type[Dialect]) -> type[Dialect]:
        if name in _FOUND and type(_FOUND[name]).__qualname__ != cls.__qualname__:
            raise ValueError(f"two dialects are called '{name}'; rename one")
        cls.name = name
        _FOUND[name] = cls()
        return cls

    return register


@cache
def _discover() -> dict[str, Dialect]:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_FOUND.items()))


def dialects() -> tuple[str, ...]:
    """Names of all dialects, sorted."""
    return tuple(_discover())


def get(name: str) -> Dialect:
    """The dialect; NotFound with «did you mean» for an unknown name."""
    found = _discover()
    if name not in found:
        raise NotFound.among("dialect", name, found)
    return found[name]

