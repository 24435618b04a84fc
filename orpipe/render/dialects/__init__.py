"""Code libraries: one file each, holding only what differs from the base below.  Found by walking this package.

A dialect writes text; it never imports its library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from orpipe.algebra import nodes as n
from orpipe.registry import Registry
from orpipe.render.emit_layout import Doc, Statement, bracket, comment, loose, seq

if TYPE_CHECKING:
    from orpipe.render.emit_writer import Writer


class Dialect:
    """How one library says it.  The base: variables in dictionaries by index, rows added one by one in loops.

    title: the library as texts call it.  summation: the function that adds linear expressions.  aliases: Python names
    its programs bind.  on_model: variables are attributes of the model object, whose own `attributes` are not free.
    drops_unused: the library leaves out a variable that stands in no row and not in the objective: it has no value."""

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
            only = objective.terms[0]
            return [*comment(only.meaning), *self.set_objective(w, objective.sense, w.expr(only.expr, {}))]
        if not objective.terms:
            return self.set_objective(w, objective.sense, "0")
        out: list[Statement] = []
        for term in objective.terms:
            body = term.expr.arg if isinstance(term.expr, n.Neg) else term.expr
            out += [*comment(term.meaning), Statement(seq(f"{w.names.terms[term.name]} = ", loose(w.expr(body, {}))))]
        return [*out, *self.set_objective(w, objective.sense, w.total(objective))]


_DIALECTS: Registry[Dialect] = Registry("dialect", __name__)


def dialect(name: str) -> Callable[[type[Dialect]], type[Dialect]]:
    """Registers a dialect under `name`; a second one of that name raises."""
    def register(cls: type[Dialect]) -> type[Dialect]:
        cls.name = name
        _DIALECTS.add(name, cls())
        return cls

    return register


def dialects() -> dict[str, Dialect]:
    """All dialects by name, sorted."""
    return {d.name: d for d in _DIALECTS}


def get(name: str) -> Dialect:
    """The dialect; NotFound with «did you mean» for an unknown name."""
    return _DIALECTS[name]
