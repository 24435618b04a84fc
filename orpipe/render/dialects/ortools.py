"""OR-Tools model_builder: GLOP for LP, SCIP for MILP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orpipe.algebra import nodes as n
from orpipe.render.dialects import Dialect, dialect
from orpipe.render.emit_layout import Doc, Statement, call

if TYPE_CHECKING:
    from orpipe.render.emit_writer import Writer


@dialect("ortools")
class OrTools(Dialect):
    title = "OR-Tools"
    aliases = frozenset({"model_builder"})
    optimal = "status == model_builder.SolveStatus.OPTIMAL"
    objective_value = "solver.objective_value"

    def imports(self, w: Writer) -> list[str]:
        infinite = any(b is None for v in w.model.variables for b in (v.lower, v.upper))
        return ["from ortools.linear_solver.python import model_builder", *(["import math"] if infinite else [])]

    def create(self, w: Writer) -> list[Statement]:
        return [Statement("model = model_builder.Model()")]

    def column(self, w: Writer, v: n.VarDecl, name: str, lower: Doc | None, upper: Doc | None) -> Doc:
        if w.is_binary(v):
            return call("model.new_bool_var", name)
        low, high = "-math.inf" if lower is None else lower, "math.inf" if upper is None else upper
        return call("model.new_num_var" if v.kind == "continuous" else "model.new_int_var", low, high, name)

    def add_row(self, w: Writer, relation: Doc, name: str) -> Doc:
        return call("model.add", relation, name)

    def set_objective(self, w: Writer, sense: n.Sense, value: Doc) -> list[Statement]:
        return [Statement(call(f"model.{sense}", value))]

    def run(self, w: Writer) -> list[Statement]:
        if w.integer:
            options = ['solver = model_builder.Solver("scip")',
                       'solver.set_solver_specific_parameters("limits/gap = 0")']
        else:
            options = ['solver = model_builder.Solver("glop")',
                       "# preprocessing would report an unbounded model as infeasible",
                       'solver.set_solver_specific_parameters("use_preprocessing: false")']
        return [Statement(line) for line in (*options, "status = solver.solve(model)")]

    def value(self, column: str) -> str:
        return f"solver.value({column})"

    def status(self, w: Writer) -> list[Statement]:
        again = ["# presolve may call an unbounded model infeasible: solve without it to tell them apart",
                 'solver.set_solver_specific_parameters("presolving/maxrounds = 0")', "status = solver.solve(model)"]
        return [*map(Statement, again if w.integer else []), Statement('print("status =", status.name.lower())')]
