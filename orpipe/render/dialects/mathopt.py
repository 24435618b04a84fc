"""OR-Tools MathOpt: GLOP for LP, HiGHS for MILP.

Not SCIP: MathOpt raises an internal error when SCIP finds a model unbounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orpipe.algebra import nodes as n
from orpipe.render.dialects import Dialect, dialect
from orpipe.render.emit_layout import Doc, Statement, call, seq
from orpipe.render.emit_names import identifier

if TYPE_CHECKING:
    from orpipe.render.emit_writer import Writer


@dialect("mathopt")
class MathOpt(Dialect):
    title = "OR-Tools MathOpt"
    summation = "mathopt.fast_sum"
    aliases = frozenset({"mathopt"})
    optimal = "result.termination.reason == mathopt.TerminationReason.OPTIMAL"
    objective_value = "result.objective_value()"

    def imports(self, w: Writer) -> list[str]:
        return ["from ortools.math_opt.python import mathopt"]

    def create(self, w: Writer) -> list[Statement]:
        return [Statement(f'model = mathopt.Model(name="{identifier(w.model.name)}")')]

    def column(self, w: Writer, v: n.VarDecl, name: str, lower: Doc | None, upper: Doc | None) -> Doc:
        if w.is_binary(v):
            return call("model.add_binary_variable", f"name={name}")
        bounds = [seq(f"{word}=", b) for word, b in (("lb", lower), ("ub", upper)) if b is not None]
        function = "model.add_variable" if v.kind == "continuous" else "model.add_integer_variable"
        return call(function, *bounds, f"name={name}")

    def add_row(self, w: Writer, relation: Doc, name: str) -> Doc:
        return call("model.add_linear_constraint", relation, f"name={name}")

    def set_objective(self, w: Writer, sense: n.Sense, value: Doc) -> list[Statement]:
        return [Statement(call(f"model.{sense}", value))]

    def run(self, w: Writer) -> list[Statement]:
        if not w.integer:
            return [Statement("result = mathopt.solve(model, mathopt.SolverType.GLOP)")]
        return [Statement("parameters = mathopt.SolveParameters(relative_gap_tolerance=0)"),
                Statement("result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=parameters)")]

    def value(self, column: str) -> str:
        return f"result.variable_values({column})"

    def status(self, w: Writer) -> list[Statement]:
        return [Statement('print("status =", result.termination.reason.name.lower())')]
