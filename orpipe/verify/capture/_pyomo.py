"""What reading a pyomo model and APPSI's set-up for HiGHS have in common, done once.

APPSI walks each expression twice more, row by row, and makes its configuration anew.  Where a model is plain (`Reading.plain`) its own
bookkeeping is filled from what was read: the same in every field as APPSI's own work leaves it (tests/test_capture_pyomo.py), so that
later calls and changes are met as ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from orpipe.verify.capture import Captured

_NUMBERS = (float, int, np.float64, np.int64)


@dataclass(frozen=True, eq=False, slots=True)
class Terms:
    """sum of coefficients x variables + constant, each variable once, no coefficient 0; named as in pyomo's standard form."""

    linear_vars: list[Any]
    linear_coefs: list[float]
    constant: float


@dataclass(eq=False, slots=True)
class Reading:
    """A model as read: its active constraints with (lower, terms, upper) where these are plain numbers and terms.  plain: every one is,
    and the objective, and no variable is fixed."""

    captured: Captured | None = None
    plain: bool = True
    constraints: list[tuple[Any, float | None, Any, float | None]] = field(default_factory=list)
    objective: tuple[Any, Any] | None = None


LAST: list[tuple[Any, Reading]] = []  # at most one: the model whose solve is about to begin


def plain_terms(expression: Any, linear_class: Any, monomial: Any) -> Terms | None:
    """The terms of a sum as programs mostly write it, or of a single one; None for all else."""
    variables, coefficients, constant = [], [], 0.0
    for term in expression.args if expression.__class__ is linear_class else (expression,):
        kind = term.__class__
        if kind is monomial:
            a, v = term.args
            if a.__class__ not in _NUMBERS or not a:
                return None
        elif kind in _NUMBERS:
            constant += term
            continue
        elif getattr(term, "is_variable_type", bool)():
            a, v = 1, term
        else:
            return None
        if v.fixed:
            return None
        variables.append(v)
        coefficients.append(a)
    if len(set(map(id, variables))) < len(variables) or not variables:
        return None
    return Terms(variables, coefficients, constant)


def hasten(module: ModuleType, base: ModuleType) -> None:
    """Patch APPSI's Highs.set_instance.  module: pyomo.contrib.appsi.solvers.highs; base: pyomo.contrib.appsi.base."""
    highs, original = module.Highs, module.Highs.set_instance

    def set_instance(self: Any, model: Any) -> Any:
        reading = LAST.pop()[1] if LAST and LAST[-1][0] is model else None
        LAST.clear()
        if reading is None or not _fits(self, model, reading):
            return original(self, model)
        if self._last_results_object is not None:
            self._last_results_object.solution_loader.invalidate()
        _again(self, module, base)
        self._model = model
        self._solver_model = module.highspy.Highs()
        _fill(self, module.highspy, reading)
        return None

    highs.set_instance = set_instance


def _fits(solver: Any, model: Any, reading: Reading) -> bool:
    from pyomo.core import Param

    return (reading.plain and reading.objective is not None and not solver._only_child_vars and not solver.use_extensions
            and bool(solver.available()) and not any(p.mutable for p in model.component_objects(Param, descend_into=True)))


def _again(solver: Any, module: ModuleType, base: ModuleType) -> None:
    """APPSI's _reinit, which keeps the configuration, without making one to throw away."""
    kept: tuple[Any, Any] = module.HighsConfig, base.UpdateConfig
    config, options, update = solver.config, solver.highs_options, solver.update_config
    made: Callable[[Any], Callable[[], Any]] = lambda found: lambda: found  # noqa: E731
    vars(module)["HighsConfig"], vars(base)["UpdateConfig"] = made(config), made(update)
    try:
        solver.__init__(only_child_vars=solver._only_child_vars)
    finally:
        vars(module)["HighsConfig"], vars(base)["UpdateConfig"] = kept
    solver.config, solver.highs_options, solver.update_config = config, options, update


def _fill(solver: Any, highspy: Any, reading: Reading) -> None:
    """As add_block does, in its order: variables as rows first use them, then rows, then the objective."""
    assert reading.objective is not None
    objective, aims = reading.objective
    columns = {id(v): v for _, _, terms, _ in reading.constraints for v in terms.linear_vars}
    columns |= {id(v): v for v in aims.linear_vars if id(v) not in columns}
    if columns:
        solver.add_variables(list(columns.values()))
    places, referenced = solver._pyomo_var_to_solver_var_map, solver._referenced_variables
    starts: list[int] = []
    indices: list[int] = []
    data: list[float] = []
    lower: list[float] = []
    upper: list[float] = []
    for row, (constraint, least, terms, most) in enumerate(reading.constraints):
        solver._active_constraints[constraint] = constraint.expr
        solver._named_expressions[constraint] = []
        solver._vars_referenced_by_con[constraint] = terms.linear_vars
        starts.append(len(data))
        for v in terms.linear_vars:
            referenced[id(v)][0][constraint] = None
            indices.append(places[id(v)])
        data += terms.linear_coefs
        lower.append(-highspy.kHighsInf if least is None else least - terms.constant)
        upper.append(highspy.kHighsInf if most is None else most - terms.constant)
        solver._pyomo_con_to_solver_con_map[constraint] = row
        solver._solver_con_to_pyomo_con_map[row] = constraint
    model = solver._solver_model
    if starts:
        model.addRows(len(starts), np.array(lower, float), np.array(upper, float), len(data), np.array(starts), np.array(indices),
                      np.array(data, float))
    solver._objective, solver._objective_expr, solver._objective_sense = objective, objective.expr, objective.sense
    solver._obj_named_expressions, solver._vars_referenced_by_obj = [], aims.linear_vars
    cost = np.zeros(len(places))
    for v, a in zip(aims.linear_vars, aims.linear_coefs, strict=True):
        referenced[id(v)][2] = objective
        cost[places[id(v)]] = a
    solver._objective_helpers = []
    model.changeObjectiveOffset(aims.constant)
    model.changeObjectiveSense(highspy.ObjSense.kMinimize if objective.sense == 1 else highspy.ObjSense.kMaximize)
    model.changeColsCost(len(cost), np.arange(len(cost)), cost)


def finite(bound: Any) -> bool:
    """Whether a bound is a number, or none at all."""
    return bound is None or (bound.__class__ in _NUMBERS and math.isfinite(bound))
