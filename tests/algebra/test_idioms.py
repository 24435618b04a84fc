"""Every reformulation against the meaning of its idiom: the feasible set, seen on the original variables, is the truth."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from orpipe.algebra import nodes as n
from orpipe.algebra.build import Builder, first, sum_
from orpipe.algebra.idioms import _REGISTRY, available, lower, reformulations
from orpipe.ground import ground
from orpipe.problem import Problem

from .test_properties import highs_optimum

TESTED = {
    ("fixed_charge", "link"), ("implication", "big_m"), ("disjunction", "big_m"), ("maximum", "epigraph"), ("minimum", "hypograph"),
    ("absolute", "two_rows"), ("absolute", "signed"), ("piecewise", "convex"), ("piecewise", "incremental"),
    ("semicontinuous", "switch"),
}


def test_every_reformulation_is_tested_here() -> None:
    assert {(kind, name) for kind in _REGISTRY for name in reformulations(kind)} == TESTED


def fixed(problem: Problem, point: dict[str, float]) -> Problem:
    """The problem with some columns held at a value."""
    low, high = problem.lower.copy(), problem.upper.copy()
    for name, value in point.items():
        low[problem.column_index[name]] = high[problem.column_index[name]] = value
    return replace(problem, lower=low, upper=high)


def feasible(problem: Problem, point: dict[str, float]) -> bool:
    """Is there a way to complete the point?"""
    return highs_optimum(fixed(problem, point)) is not None


def grid(**values: list[float]) -> Iterator[dict[str, float]]:
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def free(m: Builder, *symbols: str) -> Any:
    """Variables within ±4, in an objective that does not matter."""
    out = [m.var(s, meaning=s, lower=-4, upper=4) for s in symbols]
    m.minimize(cost=(sum((v * 1 for v in out[1:]), start=out[0] * 1), "cost"))
    return out


WHOLE = [-2.0, -1.0, 0.0, 1.0, 2.0]
SWITCH = [0.0, 1.0]


# -- switches ----------------------------------------------------------------------------------------------------------
def test_fixed_charge() -> None:
    m = Builder("charge")
    x, y = m.var("x", meaning="x"), m.var("y", kind="binary", meaning="y")
    m.maximize(gain=(x - y, "gain"))
    m.fixed_charge("link", x, y, 3, because="link")
    problem = ground(m.build(), {})
    for p in grid(x=[0, 0.5, 1, 3, 3.5, 4], y=SWITCH):
        assert feasible(problem, p) == (p["x"] <= 3 if p["y"] else p["x"] == 0)


@pytest.mark.parametrize(("relate", "truth"), [
    (lambda a, b: a + b <= 1, lambda a, b: a + b <= 1), (lambda a, b: a - b >= 1, lambda a, b: a - b >= 1),
    (lambda a, b: a == b - 1, lambda a, b: a == b - 1),
])
def test_implication(relate: Callable, truth: Callable) -> None:
    m = Builder("implied")
    a, b = free(m, "a", "b")
    y = m.var("y", kind="binary", meaning="y")
    m.implies("then", y, relate(a, b), 9, because="then")
    problem = ground(m.build(), {})
    for p in grid(a=WHOLE, b=WHOLE, y=SWITCH):
        assert feasible(problem, p) == (not p["y"] or truth(p["a"], p["b"]))


@pytest.mark.parametrize(("one", "other", "truth"), [
    (lambda a, b: a <= b - 1, lambda a, b: b <= a - 2, lambda a, b: a <= b - 1 or b <= a - 2),
    (lambda a, b: a + b >= 2, lambda a, b: a + b <= -2, lambda a, b: abs(a + b) >= 2),
    (lambda a, b: a == b, lambda a, b: a >= 1, lambda a, b: a == b or a >= 1),
    (lambda a, b: a - b == 1, lambda a, b: 2 * a + b == 0, lambda a, b: a - b == 1 or 2 * a + b == 0),
])
def test_disjunction(one: Callable, other: Callable, truth: Callable) -> None:
    m = Builder("either")
    a, b = free(m, "a", "b")
    m.either_or("choice", one(a, b), other(a, b), 20, symbol="y", meaning="1 if the first", because="one of two")
    model = m.build()
    problem = ground(model, {})
    assert lower(model).var_by["y"].auxiliary and not problem.decision[problem.column_index["y"]]
    for p in grid(a=WHOLE, b=WHOLE):
        assert feasible(problem, p) == truth(p["a"], p["b"])
        for y in SWITCH:  # the switch tells which of the two is kept
            if feasible(problem, p | {"y": y}):
                assert truth(p["a"], p["b"])


def test_semicontinuous() -> None:
    m = Builder("lots")
    x = m.var("x", meaning="x")
    m.maximize(gain=(x, "gain"))
    m.semicontinuous("lot", x, 2, 3.5, symbol="y", meaning="1 if any", because="lots")
    problem = ground(m.build(), {})
    for p in grid(x=[0, 0.5, 1.999, 2, 3, 3.5, 3.75]):
        assert feasible(problem, p) == (p["x"] == 0 or 2 <= p["x"] <= 3.5)


# -- extremes ----------------------------------------------------------------------------------------------------------
def indexed(m: Builder) -> Any:
    I, G = m.set("I", "item"), m.set("G", "group")
    i, g = I.index("i"), G.index("g")
    x = m.var("x", g, i, lower=-4, upper=4, meaning="x")
    z = m.var("z", g, lower=None, auxiliary=True, meaning="z")
    return i, g, x, z


INDEXED = {"I": ["p", "q"], "G": ["A", "B"]}


@pytest.mark.parametrize("largest", [True, False])
def test_maximum_and_minimum(largest: bool) -> None:
    m = Builder("extreme")
    i, g, x, z = indexed(m)
    (m.minimize if largest else m.maximize)(extreme=(sum_(g)(z[g]), "extreme"))
    (m.maximum if largest else m.minimum)("extreme", z[g], x[g, i] + 1, over=(i,), forall=(g,), because="extreme")
    problem = ground(m.build(), INDEXED)
    assert problem.rows == ("extreme[A,p]", "extreme[A,q]", "extreme[B,p]", "extreme[B,q]")
    pick = max if largest else min
    for p, q in itertools.product(WHOLE, repeat=2):
        point = {"x[A,p]": p, "x[A,q]": q, "x[B,p]": q, "x[B,q]": 1}
        assert highs_optimum(fixed(problem, point)) == pytest.approx(pick(p, q) + pick(q, 1) + 2)
        for value in WHOLE:
            beyond = value >= pick(p, q) + 1 if largest else value <= pick(p, q) + 1
            assert feasible(problem, point | {"z[A]": value}) == beyond


@pytest.mark.parametrize("name", ["two_rows", "signed"])
def test_absolute(name: str) -> None:
    m = Builder("distance")
    i, g, x, z = indexed(m)
    m.minimize(gap=(sum_(g)(z[g]), "gap"))
    j = m.set("J", "other").index("j")
    a = m.param("a", j, meaning="a")
    m.absolute("gap", z[g], sum_(i)(x[g, i]) - sum_(j)(a[j]), forall=(g,), because="gap", big_m=20)
    model = m.build()
    assert available(model.idioms[0]) == ("two_rows", "signed")
    problem = ground(model, INDEXED | {"J": ["r"], "a": {"r": 1}}, {"gap": name})
    assert ground(model, INDEXED | {"J": ["r"], "a": {"r": 1}}, {"absolute": name}).difference(problem) is None
    for p, q in itertools.product(WHOLE, [-2.0, 0.5]):
        point, gap = {"x[A,p]": p, "x[A,q]": q, "x[B,p]": 1, "x[B,q]": 0}, abs(p + q - 1)
        assert highs_optimum(fixed(problem, point)) == pytest.approx(gap)
        for value in [gap - 0.5, gap, gap + 1]:
            assert feasible(problem, point | {"z[A]": value}) == (value == gap if name == "signed" else value >= gap)


# -- piecewise linear --------------------------------------------------------------------------------------------------
def tiers() -> n.Model:
    m = Builder("tiers")
    I, K = m.set("I", "supplier"), m.set("K", "tier", numbered=True)
    i, k = I.index("i"), K.index("k")
    w, s = m.param("w", i, k, meaning="width"), m.param("s", i, k, meaning="slope", sign="any")
    x, v = m.var("x", i, meaning="amount"), m.var("v", i, lower=None, auxiliary=True, meaning="bill")
    need = m.param("need", meaning="need")
    m.minimize(bill=(sum_(i)(v[i]), "bill"))
    m.require("need", sum_(i)(x[i]) >= need, because="need")
    m.piecewise("bill", x[i], v[i], k, w, s, symbol="z", unit="1", forall=(i,), because="by tiers")
    return m.build()


def bill(amount: float, widths: list[float], slopes: list[float]) -> float:
    total = 0.0
    for width, slope in zip(widths, slopes, strict=True):
        part = min(amount, width)
        total, amount = total + part * slope, amount - part
    return total


WIDTHS = [2.0, 1.0, 3.0]


@pytest.mark.parametrize(("name", "slopes"), [
    ("convex", [1.0, 2.0, 4.5]), ("incremental", [1.0, 2.0, 4.5]), ("incremental", [4.0, 2.0, 3.0]), ("incremental", [3.0, -1.0, 0.5]),
])
def test_piecewise(name: str, slopes: list[float]) -> None:
    data: dict[str, Any] = {"I": ["p"], "K": [1, 2, 3], "need": 0, "w": {"p": {k + 1: w for k, w in enumerate(WIDTHS)}},
                            "s": {"p": {k + 1: s for k, s in enumerate(slopes)}}}
    problem = ground(tiers(), data, {"bill": name})
    for amount in np.arange(0, 7.5, 0.5):
        best = highs_optimum(fixed(problem, {"x[p]": amount}))
        if amount > sum(WIDTHS):
            assert best is None
            continue
        due = bill(float(amount), WIDTHS, slopes)
        assert best == pytest.approx(due)
        if name == "incremental":  # the bill is fixed, not only pressed down
            assert not feasible(problem, {"x[p]": amount, "v[p]": due + 0.25})
            assert not feasible(problem, {"x[p]": amount, "v[p]": due - 0.25})


def test_convex_piecewise_cheats_when_slopes_fall() -> None:
    data = {"I": ["p"], "K": [1, 2], "need": 2, "w": {"p": {1: 2, 2: 5}}, "s": {"p": {1: 3, 2: 1}}}
    assert highs_optimum(ground(tiers(), data)) == pytest.approx(2)
    assert highs_optimum(ground(tiers(), data, {"piecewise": "incremental"})) == pytest.approx(6)


def test_incremental_rows_by_hand() -> None:
    data = {"I": ["p"], "K": [1, 2], "need": 2, "w": {"p": {1: 2, 2: 5}}, "s": {"p": {1: 3, 2: 1}}}
    problem = ground(tiers(), data, {"piecewise": "incremental"})
    assert problem.rows == ("need", "bill_amount[p]", "bill_cost[p]", "bill_open[p,1]", "bill_open[p,2]", "bill_full[p,2]")
    full = problem.matrix[[problem.rows.index("bill_full[p,2]")]].toarray()[0]
    assert {c: v for c, v in zip(problem.columns, full, strict=True) if v} == {"z[p,1]": 1, "z_used[p,2]": -2}


# -- lowering ----------------------------------------------------------------------------------------------------------
def test_conditions_reach_the_rows() -> None:
    m = Builder("late")
    T = m.set("T", "period", numbered=True)
    t = T.index("t")
    x, y = m.var("x", t, meaning="x"), m.var("y", t, kind="binary", meaning="y")
    m.maximize(gain=(sum_(t)(x[t]), "gain"))
    m.require("most", x[t] <= 9, forall=(t,), because="most")
    m.fixed_charge("late", x[t], y[t - 1], Fraction(5, 2), forall=(t,), where=t > first, because="late", tightened_by="")
    model = m.build()
    row = lower(model).rows[-1]
    assert (row.name, row.origin, row.where, row.because) == ("late", "late", t > first, "late")
    assert ground(model, {"T": [1, 2, 3]}).rows[3:] == ("late[2]", "late[3]")
    assert lower(lower(model)) == lower(model)
