"""pyomo's models read in one pass: APPSI's bookkeeping for HiGHS, filled from it, is what APPSI's own work leaves."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orpipe.verify.capture import _pyomo
from orpipe.verify.capture.pyomo import reading_of

pyo: Any = pytest.importorskip("pyomo.environ")
pytest.importorskip("highspy")


def transport() -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), range(3), within=pyo.NonNegativeReals, initialize=1)
    m.y = pyo.Var(["a", "b"], within=pyo.Binary)
    m.unused = pyo.Var(bounds=(-1, 4))
    m.cost = pyo.Objective(expr=sum((2.5 + i * j) * m.x[i, j] for i in range(2) for j in range(3)) + 7 * m.y["b"] + 3)
    m.need = pyo.Constraint(range(3), rule=lambda m, j: sum(m.x[i, j] for i in range(2)) >= 4 + j)
    m.most = pyo.Constraint(range(2), rule=lambda m, i: sum(m.x[i, j] for j in range(3)) <= 12 * m.y["ab"[i]])
    m.pair = pyo.Constraint(expr=m.x[0, 0] - m.x[1, 1] + 2 == 1.5)
    m.one = pyo.Constraint(expr=m.x[0, 2] <= 9)
    return m


def block() -> Any:
    m = pyo.ConcreteModel()
    m.b = pyo.Block()
    m.b.x = pyo.Var(domain=pyo.Integers, bounds=(0, np.float64(7.5)))
    m.x = pyo.Var(domain=pyo.NonNegativeReals)
    m.late = pyo.Objective(expr=3 * m.b.x, sense=pyo.maximize)
    m.b.c = pyo.Constraint(expr=(1, m.x + np.float64(2.5) * m.b.x, 9))
    m.off = pyo.Constraint(expr=m.x >= 100)
    m.off.deactivate()
    return m


def lists() -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.VarList(within=pyo.PositiveIntegers)
    for _ in range(3):
        m.x.add().setub(5)
    m.p = pyo.Param([1, 2, 3], initialize={1: 4, 2: 5, 3: 6})
    m.c = pyo.ConstraintList()
    m.c.add(pyo.quicksum(m.p[i] * m.x[i] for i in m.p) <= 40)
    m.c.add(m.x[1] >= m.x[2])
    m.o = pyo.Objective(rule=lambda m: pyo.summation(m.x), sense=pyo.maximize)
    return m


def with_expression() -> Any:
    m = transport()
    m.e = pyo.Expression(expr=m.x[0, 0] + m.x[0, 1])
    m.c = pyo.Constraint(expr=m.e <= 6)
    return m


def with_parameter() -> Any:
    m = transport()
    m.p = pyo.Param(initialize=6, mutable=True)
    m.c = pyo.Constraint(expr=m.p * m.x[0, 0] <= 6)
    return m


def with_fixed() -> Any:
    m = transport()
    m.x[1, 2].fix(3)
    return m


def with_twice() -> Any:
    m = transport()
    m.c = pyo.Constraint(expr=m.x[0, 0] + m.x[0, 1] + 2 * m.x[0, 0] + 0 * m.x[1, 0] <= 6)
    return m


PLAIN = [transport, block, lists]
OTHERS = [with_expression, with_parameter, with_fixed, with_twice]


@pytest.fixture
def appsi(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """own: APPSI's class as it is; fast: filled from our reading."""
    from pyomo.contrib.appsi import base
    from pyomo.contrib.appsi.solvers import highs

    module = SimpleNamespace(Highs=type("Fast", (highs.Highs,), {}), highspy=highs.highspy)
    monkeypatch.setattr(_pyomo, "LAST", [])
    _pyomo.hasten(highs_like := _Module(highs, module.Highs), base)
    yield SimpleNamespace(own=highs.Highs, fast=highs_like.Highs)


class _Module:
    """The module with another class in it."""

    def __init__(self, real: Any, highs: type) -> None:
        vars(self).update(vars(real), Highs=highs)


def made(kind: Any, model: Any) -> Any:
    _pyomo.LAST[:] = [(model, reading_of(model))]
    solver = kind()
    solver.set_instance(model)
    return solver


def state(solver: Any) -> dict[str, Any]:
    """Every field, solver objects by what they hold."""
    lp = solver._solver_model.getLp()
    held = {name: np.array(getattr(lp, name)).tolist() for name in ("col_cost_", "col_lower_", "col_upper_", "row_lower_", "row_upper_")}
    held |= {name: np.array(getattr(lp.a_matrix_, name)).tolist() for name in ("start_", "index_", "value_")}
    held |= {"offset": lp.offset_, "sense": lp.sense_.name, "integrality": [k.name for k in lp.integrality_]}
    fields = {k: v for k, v in vars(solver).items() if k not in ("_solver_model", "_config", "_update_config")}
    fields |= {"_external_functions": len(fields["_external_functions"]), "config": solver.config.value(),
               "_update_config": solver.update_config.value()}
    listed = ("_referenced_variables", "_vars", "_pyomo_var_to_solver_var_map", "_pyomo_con_to_solver_con_map", "_active_constraints")
    return {**{k: _by_identity(v) for k, v in fields.items()}, "order": [_by_identity(list(fields[k])) for k in listed], "lp": held}


def _by_identity(content: Any) -> Any:
    """Components compare to expressions: their ids stand for them."""
    if isinstance(content, dict):
        return {_by_identity(k): _by_identity(v) for k, v in content.items()}
    if isinstance(content, (list, tuple)):
        return tuple(map(_by_identity, content))
    return content if content is None or isinstance(content, (bool, int, float, str)) else id(content)


@pytest.mark.parametrize("build", PLAIN)
def test_the_bookkeeping_is_that_of_appsi_in_every_field(appsi: Any, build: Any) -> None:
    model = build()
    assert reading_of(model).plain
    assert state(made(appsi.fast, model)) == state(made(appsi.own, model))


@pytest.mark.parametrize("build", PLAIN + OTHERS)
def test_appsi_walks_a_model_that_is_not_plain(appsi: Any, build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, walked = build(), []
    monkeypatch.setattr(appsi.own, "add_block", lambda _, found: walked.append(found))
    made(appsi.fast, model)
    assert walked == ([] if build in PLAIN else [model])


def test_later_changes_are_seen(appsi: Any) -> None:
    found = []
    for kind in (appsi.own, appsi.fast):
        model = transport()
        solver, said = made(kind, model), []
        solver.config.stream_solver = False
        for change in (lambda m: None, lambda m: m.x[0, 1].fix(5), lambda m: m.x[0, 1].unfix(), lambda m: m.most[1].deactivate(),
                       lambda m: m.y["a"].setlb(1), lambda m: m.add_component("extra", pyo.Constraint(expr=m.unused >= m.x[0, 0] + 1)),
                       lambda m: setattr(m.cost, "expr", m.x[0, 0] + m.x[1, 2] - m.unused)):
            change(model)
            said.append(round(solver.solve(model).best_feasible_objective, 9))
        found.append(said)
    assert found[0] == found[1] and len(set(found[0])) >= 3, found
