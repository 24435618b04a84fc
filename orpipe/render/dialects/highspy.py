"""highspy, the modelling layer of HiGHS itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orpipe.algebra import nodes as n
from orpipe.render.dialects import Dialect, dialect
from orpipe.render.emit_layout import Doc, Statement, call, seq

if TYPE_CHECKING:
    from orpipe.render.emit_writer import Writer


@dialect("highspy")
class Highspy(Dialect):
    title = "highspy"
    summation = "model.qsum"
    aliases = frozenset({"highspy", "values"})
    optimal = "model.getModelStatus() == highspy.HighsModelStatus.kOptimal"
    objective_value = "model.getObjectiveValue()"

    def imports(self, w: Writer) -> list[str]:
        return ["import highspy"]

    def create(self, w: Writer) -> list[Statement]:
        options = ['"output_flag", False', '"threads", 1', *(['"mip_rel_gap", 0'] if w.integer else [])]
        return [Statement("model = highspy.Highs()"), *(Statement(f"model.setOptionValue({o})") for o in options)]

    def column(self, w: Writer, v: n.VarDecl, name: str, lower: Doc | None, upper: Doc | None) -> Doc:
        if w.is_binary(v):
            return call("model.addBinary", f"name={name}")
        low = "-highspy.kHighsInf" if lower is None else None if lower == "0" else lower
        bounds = [seq(f"{word}=", b) for word, b in (("lb", low), ("ub", upper)) if b is not None]
        return call("model.addVariable" if v.kind == "continuous" else "model.addIntegral", *bounds, f"name={name}")

    def add_row(self, w: Writer, relation: Doc, name: str) -> Doc:
        return call("model.addConstr", relation, f"name={name}")

    def set_objective(self, w: Writer, sense: n.Sense, value: Doc) -> list[Statement]:
        return [Statement(call("model.setObjective", value, f"highspy.ObjSense.k{sense.capitalize()}"))]

    def run(self, w: Writer) -> list[Statement]:
        return [Statement("model.run()")]

    def load(self, w: Writer) -> list[Statement]:
        return [Statement("values = model.getSolution().col_value")]

    def value(self, column: str) -> str:
        return f"values[{column}.index]"

    def status(self, w: Writer) -> list[Statement]:
        text = "model.modelStatusToString(model.getModelStatus()).lower()"
        if w.integer:  # presolve may stop at «primal infeasible or unbounded»
            text += ".removeprefix(\"primal \")"
        return [Statement(f"print(\"status =\", {text})")]
