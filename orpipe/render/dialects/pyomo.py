"""Pyomo, solved by HiGHS through appsi: variables and rows are components of the model, declared over index sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orpipe.algebra import nodes as n
from orpipe.render.dialects import Dialect, dialect
from orpipe.render.emit_layout import Doc, Line, Statement, bracket, call, loose, seq
from orpipe.render.emit_names import identifier

if TYPE_CHECKING:
    from orpipe.render.emit_writer import Loops, Writer

# public attributes of a ConcreteModel, which a component cannot be called
_ATTRIBUTES = frozenset(str.split(
    "Skip activate active active_blocks active_component_data active_components add_component all_blocks "
    "all_component_data all_components block_data_objects clear clear_suffix_value clone cname collect_ctypes "
    "component component_data_iterindex component_data_objects component_map component_objects "
    "compute_statistics config construct contains_component create_instance ctype deactivate del_component dim "
    "display doc find_component fix_all_vars get_suffix_value getname id_index_map index index_set "
    "is_component_type is_constructed is_expression_type is_indexed is_logical_type is_named_expression_type "
    "is_numeric_type is_parameter_type is_reference is_variable_type items iteritems iterkeys itervalues keys "
    "load local_name model name nconstraints nobjectives nvariables parent_block parent_component pprint "
    "preprocess private_data reclassify_component_type reconstruct register_private_data_initializer root_block "
    "set_suffix_value set_value solutions statistics to_dense_data transfer_attributes_from type unfix_all_vars "
    "valid_model_component valid_problem_types values write "
))


@dialect("pyomo")
class Pyomo(Dialect):
    title = "Pyomo"
    aliases = frozenset({"pyo"})
    on_model = True
    attributes = _ATTRIBUTES
    drops_unused = True
    optimal = "result.solver.termination_condition == pyo.TerminationCondition.optimal"
    objective_value = "pyo.value(model.objective)"

    def imports(self, w: Writer) -> list[str]:
        return ["import pyomo.environ as pyo"]

    def create(self, w: Writer) -> list[Statement]:
        return [Statement(f'model = pyo.ConcreteModel("{identifier(w.model.name)}")')]

    def declare(self, w: Writer, v: n.VarDecl) -> list[Statement]:
        zero, at = v.lower == n.ZERO, w.binding(v.indices)
        word = {"continuous": "Reals", "integer": "Integers", "binary": "Integers"}[v.kind]
        within = "Binary" if w.is_binary(v) else f"NonNegative{word}" if zero else word
        loops = w.loops(v.indices, w.membership(v))
        arguments = [*self.over(w, loops), f"within=pyo.{within}"]
        if within != "Binary" and not (v.upper is None and (zero or v.lower is None)):
            lower, upper = ("None" if b is None else w.expr(b, at) for b in (v.lower, v.upper))
            pair = bracket("(", seq(lower, ",", Line(), upper), ")")
            inner = [x for b in (v.lower, v.upper) for x in n.walk(b)]
            indexed = v.indices and any(isinstance(x, n.ParamRef) and x.refs for x in inner)
            arguments.append(seq(f"bounds={self.function(loops) if indexed else ''}", pair))
        return [Statement(seq(f"{w.names.variables[v.symbol]} = ", call("pyo.Var", *arguments)))]

    def constrain(self, w: Writer, r: n.Row) -> list[Statement]:
        at = w.binding(r.forall)
        loops = w.loops(r.forall, r.where, at)
        relation = w.relation(r, at)
        arguments: list[Doc] = [seq("expr=", relation)]
        if r.forall:
            arguments = [*self.over(w, loops), seq(f"rule={self.function(loops)}", loose(relation))]
        return [Statement(seq(f"model.{w.names.rows.get(r.name, r.name)} = ", call("pyo.Constraint", *arguments)))]

    def over(self, w: Writer, loops: Loops) -> list[Doc]:
        """The index sets of a component: as they are, or one list of the tuples that meet the conditions."""
        if not loops.conditions:
            return [iterable for _, iterable in loops.over]
        key = loops.letters[0] if len(loops.letters) == 1 else "(" + ", ".join(loops.letters) + ")"
        return [bracket("[", w.generator(key, loops), "]")]

    def function(self, loops: Loops) -> str:
        return f"lambda {', '.join(('model', *loops.letters))}: "

    def set_objective(self, w: Writer, sense: n.Sense, value: Doc) -> list[Statement]:
        return [Statement(seq("model.objective = ", call("pyo.Objective", seq("expr=", value), f"sense=pyo.{sense}")))]

    def run(self, w: Writer) -> list[Statement]:
        options = ['solver.options["threads"] = 1', *(['solver.options["mip_rel_gap"] = 0'] if w.integer else [])]
        return [Statement(line) for line in (
            'solver = pyo.SolverFactory("appsi_highs")', *options,
            "result = solver.solve(model, load_solutions=False)  # loading would raise if there is no solution")]

    def load(self, w: Writer) -> list[Statement]:
        return [Statement("model.solutions.load_from(result)")]

    def value(self, column: str) -> str:
        return f"{column}.value"

    def status(self, w: Writer) -> list[Statement]:
        return [Statement('print("status =", result.solver.termination_condition)')]


