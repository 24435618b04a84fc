"""PuLP, solved by HiGHS in the same process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orpipe.algebra import nodes as n
from orpipe.render.dialects import Dialect, dialect
from orpipe.render.emit_layout import Doc, Group, Seq, Statement, call, loose, seq
from orpipe.render.emit_names import identifier

if TYPE_CHECKING:
    from orpipe.render.emit_writer import Writer

_OPTIONS = "msg=False, threads=1"


@dialect("pulp")
class Pulp(Dialect):
    title = "PuLP"
    summation = "pulp.lpSum"
    aliases = frozenset({"pulp"})
    drops_unused = True
    optimal = "model.status == pulp.LpStatusOptimal"
    objective_value = "pulp.value(model.objective)"

    def imports(self, w: Writer) -> list[str]:
        return ["import pulp"]

    def create(self, w: Writer) -> list[Statement]:
        sense = "pulp.LpMinimize" if w.model.objective.sense == "minimize" else "pulp.LpMaximize"
        return [Statement(f'model = pulp.LpProblem("{identifier(w.model.name)}", {sense})')]

    def column(self, w: Writer, v: n.VarDecl, name: str, lower: Doc | None, upper: Doc | None) -> Doc:
        if w.is_binary(v):
            return call("pulp.LpVariable", name, 'cat="Binary"')
        bounds = [seq(f"{word}=", b) for word, b in (("lowBound", lower), ("upBound", upper)) if b is not None]
        return call("pulp.LpVariable", name, *bounds, *(['cat="Integer"'] if v.kind != "continuous" else []))

    def declare(self, w: Writer, v: n.VarDecl) -> list[Statement]:
        out = super().declare(w, v)
        if v.symbol in w.facts.unused:  # PuLP collects variables from rows and objective: name those it would not meet
            name = w.names.variables[v.symbol]
            out.append(Statement(f"model.addVariables({name}.values())" if v.indices else f"model.addVariable({name})"))
        return out

    def add_row(self, w: Writer, relation: Doc, name: str) -> Doc:
        return seq("model += ", Group(Seq((loose(relation), f", {name}"))))

    def set_objective(self, w: Writer, sense: n.Sense, value: Doc) -> list[Statement]:
        return [Statement(seq("model += ", loose(value)))]

    def run(self, w: Writer) -> list[Statement]:
        return [Statement(f"model.solve(pulp.HiGHS({_OPTIONS}{', gapRel=0' if w.integer else ''}))")]

    def value(self, column: str) -> str:
        return f"{column}.value()"

    def status(self, w: Writer) -> list[Statement]:
        again = [Statement("# presolve may call an unbounded model infeasible: solve without it to tell them apart"),
                 Statement(f'model.solve(pulp.HiGHS({_OPTIONS}, presolve="off"))')]
        return [*(again if w.integer else []), Statement('print("status =", pulp.LpStatus[model.status].lower())')]


