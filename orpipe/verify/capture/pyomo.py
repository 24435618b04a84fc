"""pyomo: models are read from the expression tree; any solver name is answered by HiGHS through APPSI.

`appsi_highs` and `highs` behave as they are (both raise on an infeasible model unless told not to load a solution).
Other names get a stand-in that, as the classic interfaces do, returns results with the termination condition and
loads nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from orpipe.errors import Unsupported
from orpipe.verify.capture import Captured, Rows, hook, library, recorded
from orpipe.verify.capture._pyomo import LAST, Reading, finite, hasten, plain_terms

library("pyomo", words=("pyomo",), preload=(
    "pyomo.environ", "pyomo.contrib.appsi.solvers.highs", "pyomo.contrib.solver.solvers.highs", "highspy", "numpy",
), rehearsal="""
import pyomo.environ as pyo
m = pyo.ConcreteModel("rehearsal")
m.I, m.J = pyo.Set(initialize=["a", "b", "c"]), pyo.Set(initialize=["p", "q", "r", "s"])
m.f = pyo.Param(m.I, initialize={"a": 7, "b": 8.5, "c": 6})
m.y, m.x = pyo.Var(m.I, within=pyo.Binary), pyo.Var(m.I, m.J, within=pyo.NonNegativeReals)
m.cost = pyo.Objective(expr=sum(m.f[i] * m.y[i] for i in m.I) + sum(1.5 * m.x[i, j] for i in m.I for j in m.J))
m.demand = pyo.Constraint(m.J, rule=lambda m, j: sum(m.x[i, j] for i in m.I) == 4)
m.capacity = pyo.Constraint(m.I, rule=lambda m, i: sum(m.x[i, j] for j in m.J) <= 9.5 * m.y[i])
for solver in ("appsi_highs", "glpk"):
    result = pyo.SolverFactory(solver).solve(m)
    print(result.solver.termination_condition, pyo.value(m.cost), [pyo.value(v) for v in m.x.values()])
I, J = range(3), range(4)
m = pyo.ConcreteModel()
m.N, m.p = pyo.RangeSet(1, 3), pyo.Param(initialize=2, mutable=True)
m.x = pyo.Var(I, J, within=pyo.NonNegativeReals)
m.z = pyo.Var(m.N, domain=pyo.NonNegativeIntegers, bounds=(0, 9))
m.cost = pyo.Objective(expr=sum((i + j) * m.x[i, j] for i in I for j in J) - sum(m.z[n] for n in m.N), sense=pyo.minimize)
m.supply = pyo.Constraint(I, rule=lambda m, i: sum(m.x[i, j] for j in J) <= 9)
m.demand = pyo.Constraint(J, rule=lambda m, j: sum(m.x[i, j] for i in I) >= 4.5)
m.more = pyo.ConstraintList()
for n in m.N:
    m.more.add(m.p * m.z[n] + m.x[0, n] <= 7)
result = pyo.SolverFactory("highs").solve(m)
if result.solver.status == pyo.SolverStatus.ok and result.solver.termination_condition == pyo.TerminationCondition.optimal:
    print("optimum", pyo.value(m.cost), m.x[0, 0].value, m.z[1]())
""")

# Component types that add nothing to a linear model, or are read here.
_UNDERSTOOD = frozenset({
    "Block", "BooleanVar", "BuildAction", "BuildCheck", "Constraint", "Expression", "ExternalFunction", "Objective",
    "Param", "Port", "RangeSet", "Set", "SetOf", "Suffix", "Var",
})


@hook("pyomo.contrib.appsi.solvers.highs")
def patch_appsi(module: ModuleType) -> None:
    from pyomo.contrib.appsi import base

    vars(module)["capture_output"] = _not_captured
    hasten(module, base)
    recorded(module.Highs, "solve", "pyomo", lambda _, model, *__, **___: _about_to_solve(model))


@hook("pyomo.contrib.solver.solvers.highs")
def patch_highs(module: ModuleType) -> None:
    vars(module)["capture_output"] = _not_captured
    recorded(module.Highs, "solve", "pyomo", lambda _, model, *__, **___: read(model))


@contextmanager
def _not_captured(*_: Any, **__: Any) -> Iterator[None]:
    """In place of pyomo's redirection of the solver's log (pipes and threads, 3 ms a solve): there is no log."""
    yield


@hook("pyomo.opt.base.solvers")
def patch_factory(module: ModuleType) -> None:
    call = module.SolverFactoryClass.__call__

    def call_here(self: Any, _name: Any = None, **kwargs: Any) -> Any:
        if _name is None or (str(_name) in self._cls and "highs" in str(_name)):
            return call(self, _name, **kwargs)
        return StandIn(str(_name), call(self, "appsi_highs"))

    module.SolverFactoryClass.__call__ = call_here


class StandIn:
    """A classic solver interface by name, solved by APPSI's HiGHS; its own options are kept but not used."""

    def __init__(self, name: str, inner: Any) -> None:
        self.name = self.type = name
        self.options: Any = _Options()
        self._inner = inner
        self._model: Any = None

    def available(self, exception_flag: bool = True) -> bool:
        return True

    def license_is_valid(self) -> bool:
        return True

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def set_instance(self, model: Any, **_: Any) -> None:
        """The persistent interfaces' way to name the model before solve()."""
        self._model = model

    def solve(self, model: Any = None, *, load_solutions: bool = True, timelimit: float | None = None, **_: Any) -> Any:
        model = self._model if model is None else model
        results = self._inner.solve(model, load_solutions=False, timelimit=timelimit)
        if str(results.solver.termination_condition) in ("infeasible", "unbounded"):
            results.solver.status = "warning"  # APPSI says error; the classic interfaces say warning
        if load_solutions and len(results.solution):
            self._load(model)
            results.solution.clear()
        return results

    def _load(self, model: Any) -> None:
        inner = self._inner
        inner.load_vars()
        for name, get in (("dual", inner.get_duals), ("rc", inner.get_reduced_costs), ("slack", inner.get_slacks)):
            suffix = getattr(model, name, None)
            if suffix is not None and hasattr(suffix, "import_enabled") and suffix.import_enabled():
                for component, number in get().items():
                    suffix[component] = number

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._inner, name)


class _Options(dict[str, Any]):
    """solver.options["x"] = 1 and solver.options.x = 1."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def _about_to_solve(model: Any) -> Captured:
    LAST.clear()
    reading = reading_of(model)
    LAST.append((model, reading))
    assert reading.captured is not None
    return reading.captured


def read(model: Any) -> Captured:
    """See reading_of."""
    captured = reading_of(model).captured
    assert captured is not None
    return captured


def reading_of(model: Any) -> Reading:
    """The active part of a model.  Columns: its variables in order of declaration, then others that a row uses.  A
    fixed variable is a column with equal bounds.
    """
    from pyomo.core import Constraint, Objective, Var, value
    from pyomo.core.base.objective import maximize
    from pyomo.core.expr.numeric_expr import LinearExpression, MonomialTermExpression

    for block in model.block_data_objects(active=True):
        for component in block.component_objects(active=True, descend_into=False):
            if component.ctype.__name__ not in _UNDERSTOOD:
                raise Unsupported(f"pyomo: the model has an active {component.ctype.__name__} ('{component.name}')")
    columns = _Columns(model.component_data_objects(Var, descend_into=True))
    fixed = [v for v in columns.variables if v.fixed]
    objectives = list(model.component_data_objects(Objective, active=True, descend_into=True))
    if len(objectives) > 1:
        raise Unsupported(f"pyomo: the model has {len(objectives)} active objectives")
    rows, reading = Rows(), Reading(plain=not fixed)
    costs: list[tuple[list[int], list[float]]] = []
    offset = 0.0
    for v in fixed:  # a fixed variable would be folded into the right-hand sides
        v.fixed = False
    try:
        for row in model.component_data_objects(Constraint, active=True, descend_into=True):
            lower, body, upper = row.to_bounded_expression()
            terms = plain_terms(body, LinearExpression, MonomialTermExpression)
            if terms is None or not (finite(lower) and finite(upper)):
                reading.plain = False
                terms = terms or linear(row.body, row, fixed)
                lower, upper = value(lower), value(upper)
            reading.constraints.append((row, lower, terms, upper))
            rows.add(row.name, columns.places(terms.linear_vars), terms.linear_coefs,
                     -math.inf if lower is None else lower - terms.constant,
                     math.inf if upper is None else upper - terms.constant)
        for objective in objectives:
            terms = plain_terms(objective.expr, LinearExpression, MonomialTermExpression)
            if terms is None:
                reading.plain, terms = False, linear(objective.expr, objective, fixed)
            reading.objective = objective, terms
            costs.append((columns.places(terms.linear_vars), terms.linear_coefs))
            offset = terms.constant
    finally:
        for v in fixed:
            v.fixed = True
    variables = columns.variables
    cost = [0.0] * len(variables)
    for places, coefficients in costs:
        for k, a in zip(places, coefficients, strict=True):
            cost[k] += a
    domains = {id(v.domain): v.domain for v in variables}  # a few for many variables; a domain's own words take a while
    spans = {key: domain.bounds() for key, domain in domains.items()}
    whole = {id(v.domain): v.is_integer() or v.is_binary() for v in {id(v.domain): v for v in variables}.values()}
    bounds = [(value(v), value(v)) if v.fixed else spans[id(v.domain)] if v._lb is None and v._ub is None else v.bounds
              for v in variables]
    reading.captured = Captured.of(
        "pyomo", "pyomo", maximize=bool(objectives) and objectives[0].sense == maximize, offset=offset,
        columns=[v.name for v in variables], cost=cost,
        lower=[-math.inf if lower is None else lower for lower, _ in bounds],
        upper=[math.inf if upper is None else upper for _, upper in bounds],
        integer=[whole[id(v.domain)] for v in variables], **rows.arrays(),
    )
    return reading


class _Columns:
    """Variables in order; one that a row uses and the model does not own is appended."""

    def __init__(self, variables: Iterable[Any]) -> None:
        self._at: dict[int, int] = {}
        self.variables: list[Any] = []
        self.places(variables)

    def places(self, variables: Iterable[Any]) -> list[int]:
        at, found = self._at, []
        for v in variables:
            k = at.get(id(v))
            if k is None:
                k = at[id(v)] = len(self.variables)
                self.variables.append(v)
            found.append(k)
        return found


def linear(expression: Any, owner: Any, fixed: list[Any]) -> Any:
    """pyomo's standard form of an expression.  A product with a fixed variable is linear only with the value put in."""
    from pyomo.repn import generate_standard_repn

    terms = generate_standard_repn(expression, compute_values=True)
    if not terms.is_linear() and fixed:
        for v in fixed:
            v.fixed = True
        try:
            terms = generate_standard_repn(expression, compute_values=True)
        finally:
            for v in fixed:
                v.fixed = False
    if not terms.is_linear():
        raise Unsupported(f"pyomo: '{owner.name}' is not linear")
    return terms
