"""Grounding worked by hand; data that do not fit; models extended by a piece that does not know them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from orpipe.algebra import nodes as n
from orpipe.algebra.build import Builder, Indexed, extend, first, given, last, sum_
from orpipe.algebra.idioms import lower
from orpipe.errors import DataError, ModelError
from orpipe.exact import Exact
from orpipe.ground import data_hash, ground, structure_hash, validate
from orpipe.problem import Violation

from .test_parse import GOLDEN, depots


# -- worked by hand ----------------------------------------------------------------------------------------------------
def test_depots_by_hand() -> None:
    p = ground(depots(), GOLDEN)
    assert p.columns == ("is_open[North]", "is_open[South]", "ship[North,Alder]", "ship[North,Birch]", "ship[North,Cedar]",
                         "ship[South,Alder]", "ship[South,Birch]", "ship[South,Cedar]")
    assert p.rows == ("demand[Alder]", "demand[Birch]", "demand[Cedar]", "capacity[North]", "capacity[South]")
    assert p.cost.tolist() == [120, 90, 3, 7, 5, 6, 2, 4]
    assert p.matrix.toarray().tolist() == [
        [0, 0, 1, 0, 0, 1, 0, 0], [0, 0, 0, 1, 0, 0, 1, 0], [0, 0, 0, 0, 1, 0, 0, 1],
        [-16, 0, 1, 1, 1, 0, 0, 0], [0, -10, 0, 0, 0, 1, 1, 1]]
    assert p.row_lower.tolist() == [5, 6, 4, -np.inf, -np.inf] and p.row_upper.tolist() == [5, 6, 4, 0, 0]
    assert p.kind == "MILP" and (p.n_vars, p.n_rows, p.n_nonzeros) == (8, 5, 14)
    best = p.point({"is_open[North]": 1, "ship[North,Alder]": 5, "ship[North,Birch]": 6, "ship[North,Cedar]": 4})
    assert p.violations(best) == [] and p.objective(best) == 197
    south = p.point({"is_open[South]": 1, "ship[South,Alder]": 5, "ship[South,Birch]": 6, "ship[South,Cedar]": 4})
    assert p.violations(south) == [Violation("capacity[South]", "row", Fraction(5))]
    with pytest.raises(ValueError, match="has 8 values, not 1"):
        p.violations([0])
    with pytest.raises(ValueError, match="has 8 values, not 9"):
        p.objective([Fraction(0)] * 9)


def periods() -> n.Model:
    m = Builder("periods")
    T, D = m.set("T", "period", numbered=True), m.set("D", "day", cyclic=True)
    t, d = T.index("t"), D.index("d")
    a = m.param("a", t, sign="any", meaning="a")
    x, y = m.var("x", t, meaning="x", lower=None), m.var("y", d, kind="integer", upper=2, meaning="y")
    m.minimize(total=(sum_(t)(x[t] / 4) + sum_(d)(y[d]), "total"))
    m.require("step", x[t] >= x[t - 1] + a[t], forall=(t,), where=t > first, because="step")
    m.require("ends", x[t] >= 0, forall=(t,), where=n.Edge(t.ref, "=", "first"), because="ends")
    m.require("turn", y[d] + y[d - 1] + y[d + 2] >= 1, forall=(d,), because="turn")
    m.require("skip", x[t + 2] <= 5, forall=(t,), where=t + 1 < last, because="skip")
    m.require("fall", x[t] <= 3, forall=(t,), where=given(a[t] < 0), because="fall")
    return m.build()


def test_shifts_wrap_only_in_cyclic_sets() -> None:
    p = ground(periods(), {"T": [1, 2, 3], "D": ["Mon", "Tue"], "a": {"1": 0, "2": -1, "3": 0.5}})
    assert p.rows == ("step[2]", "step[3]", "ends[1]", "turn[Mon]", "turn[Tue]", "skip[1]", "fall[2]")
    assert p.matrix.toarray().tolist() == [
        [-1, 1, 0, 0, 0], [0, -1, 1, 0, 0], [1, 0, 0, 0, 0],
        [0, 0, 0, 2, 1], [0, 0, 0, 1, 2], [0, 0, 1, 0, 0], [0, 1, 0, 0, 0]]
    assert p.row_lower.tolist() == [-1, 0.5, 0, 1, 1, -np.inf, -np.inf]
    assert p.cost.tolist() == [0.25, 0.25, 0.25, 1, 1] and p.lower.tolist() == [-np.inf] * 3 + [0, 0]


@pytest.mark.parametrize(("shift", "message"), [(-1, "t-1 leaves the set T; add a condition such as t > first"),
                                                (2, r"t\+2 leaves the set T; add a condition such as t < last")])
def test_a_shift_out_of_the_set_is_an_error(shift: int, message: str) -> None:
    model = periods()
    step = replace(model.row_by["step"], where=None, right=n.VarRef("x", (n.Ref("t", shift),)))
    with pytest.raises(ModelError, match=f"model 'periods', row step: {message}"):
        ground(replace(model, rows=(step, *model.rows[1:])), {"T": [1, 2], "D": ["Mon"], "a": {1: 0, 2: 0}})


def arcs() -> n.Model:
    m = Builder("arcs")
    N = m.set("N", "node")
    i, j = N.index("i"), N.index("j")
    A = m.tuples("A", i, j, noun="arc")
    c = m.param("c", i, j, domain=A, meaning="cost", sign="positive")
    L = m.tuples("L", i, j, noun="long arc", where=(A[i, j], given(c[i, j] > 2)))
    toll = m.param("toll", i, j, domain=L, meaning="toll")
    x = m.var("x", i, j, domain=A, meaning="flow", upper=c[i, j])
    m.minimize(cost=(sum_(i, j, where=A[i, j])(c[i, j] * x[i, j]) + sum_(i, j, where=L[i, j])(toll[i, j] * x[i, j]), "cost"))
    m.require("out", sum_(j, where=A[i, j])(x[i, j]) >= 1, forall=(i,), because="out")
    return m.build()


ARCS: dict[str, Any] = {"N": ["a", "b", "c"], "A": [["b", "a"], ["a", "c"], ["c", "b"]],
                        "c": {"b": {"a": 1}, "a": {"c": 2.5}, "c": {"b": 3}}, "toll": {"a": {"c": 1}, "c": {"b": 0.25}}}


def test_sparse_sets_keep_the_order_of_the_data() -> None:
    p = ground(arcs(), ARCS)
    assert p.columns == ("x[b,a]", "x[a,c]", "x[c,b]") and p.cost.tolist() == [1, 3.5, 3.25]
    assert p.upper.tolist() == [1, 2.5, 3] and p.rows == ("out[a]", "out[b]", "out[c]")
    arrays = validate(arcs(), ARCS)
    assert arrays.tuples["L"].tolist() == [[0, 2], [2, 1]]


@pytest.mark.parametrize("symbol", ["c", "x"])
def test_outside_a_domain_is_an_error(symbol: str) -> None:
    model = arcs()
    everywhere = (n.Index("i", "N"), n.Index("j", "N"))
    refs = (n.Ref("i"), n.Ref("j"))
    x = n.Sum((n.Index("k", "N"), n.Index("l", "N")), n.Member((n.Ref("k"), n.Ref("l")), "A"), n.VarRef("x", (n.Ref("k"), n.Ref("l"))))
    body = n.VarRef("x", refs) if symbol == "x" else n.Mul(n.ParamRef("c", refs), x)
    row = n.Row("wide", everywhere, None, body, "<=", n.ONE, "wide")
    with pytest.raises(ModelError, match=rf"row wide: '{symbol}' is used outside its domain A; add a condition such as \(i,j\) in A"):
        ground(replace(model, rows=(*model.rows, row)), ARCS)


def test_a_row_without_variables_is_an_error() -> None:
    with pytest.raises(DataError, match=r"model 'arcs', row out\[c\]: no variable stands in it with these data"):
        ground(arcs(), ARCS | {"A": ARCS["A"][:2], "c": {"b": {"a": 1}, "a": {"c": 2.5}}, "toll": {"a": {"c": 1}}})


def test_data_that_divide_by_zero() -> None:
    m = Builder("ratio")
    p, x = m.param("p", meaning="p"), m.var("x", meaning="x")
    m.minimize(cost=(x, "cost"))
    m.require("ratio", x >= 1 / p, because="ratio")
    assert ground(m.build(), {"p": 3}).row_lower_exact.fractions() == [Fraction(1, 3)]
    with pytest.raises(DataError, match="model 'ratio', row ratio: the data divide by zero"):
        ground(m.build(), {"p": 0})


def test_sums_that_leave_int64() -> None:
    m = Builder("sums")
    I = m.set("I", "item")
    i = I.index("i")
    a = m.param("a", i, meaning="a")
    x, y = m.var("x", i, meaning="x"), m.var("y", meaning="y")
    m.minimize(cost=(sum_(i)(a[i] * y + x[i]), "cost"))
    m.require("row", sum_(i)(a[i] * y) + sum_(i)(x[i]) >= sum_(i)(a[i]), because="row")
    big = 2**62 - 1
    p = ground(m.build(), {"I": ["p", "q", "r"], "a": {"p": big, "q": big, "r": big}})
    assert p.row_lower_exact.fractions() == [3 * big]
    assert p.matrix_exact.fractions() == [1, 1, 1, 3 * big] and p.cost_exact.fractions() == [1, 1, 1, 3 * big]


def test_nothing_is_asked_of_an_empty_sum() -> None:
    m = Builder("empty")
    T = m.set("T", "period", numbered=True)
    t = T.index("t")
    a, p, x = m.param("a", t, meaning="a"), m.param("p", meaning="p"), m.var("x", t, meaning="x")
    m.minimize(cost=(sum_(t)(x[t]), "cost"))
    m.require("row", sum_(t)(x[t]) >= 1 + sum_(t, where=given(a[t] > 5))(a[t] / p), because="row")
    assert ground(m.build(), {"T": [1, 2], "a": {1: 3, 2: 5}, "p": 0}).row_lower.tolist() == [1]
    with pytest.raises(DataError, match="the data divide by zero"):
        ground(m.build(), {"T": [1, 2], "a": {1: 3, 2: 6}, "p": 0})


def test_a_tuple_beyond_the_ends_is_in_no_set() -> None:
    m = Builder("ends")
    T = m.set("T", "period", numbered=True)
    t, k = T.index("t"), T.index("k")
    A = m.tuples("A", t, k, noun="link")
    x = m.var("x", t, k, meaning="x")
    m.minimize(cost=(sum_(t, k)(x[t, k]), "cost"))
    m.require("after", x[t, k] >= 1, forall=(t, k), where=A[t + 1, k], because="after")
    m.require("before", x[t, k] >= 2, forall=(t, k), where=A[t - 1, k], because="before")
    m.require("none", x[t, k] <= 9, forall=(t, k), where=A.without(t + 1, k), because="none")
    p = ground(m.build(), {"T": [1, 2], "A": [[1, 1], [2, 2]]})
    assert p.rows == ("after[1,2]", "before[2,1]", "none[1,1]", "none[2,1]", "none[2,2]")


def test_numbers_out_of_the_range_of_floats_are_an_error() -> None:
    for data in ({"p": 1e-310, "q": 1}, {"p": 1, "q": 10**400}):
        m = Builder("range")
        p, q, x = m.param("p", meaning="p"), m.param("q", meaning="q"), m.var("x", meaning="x")
        m.minimize(cost=(q * x, "cost"))
        m.require("row", x / p >= 1, because="row")
        with pytest.raises(DataError, match="model 'range': the data give a number beyond the range of floats; check their units"):
            ground(m.build(), data)


def test_numbers_beyond_floats_stay_exact() -> None:
    m = Builder("huge")
    I = m.set("I", "item")
    i = I.index("i")
    a = m.param("a", i, meaning="a")
    x = m.var("x", i, meaning="x", upper=a[i])
    m.minimize(cost=(sum_(i)(a[i] * a[i] * x[i]), "cost"))
    m.require("sum", sum_(i)(a[i] * x[i]) >= 1, because="sum")
    p = ground(m.build(), {"I": ["p", "q", "r"], "a": {"p": 2**63 + 1, "q": 0.1, "r": 10**30}})
    assert p.matrix_exact.fractions() == [2**63 + 1, Fraction(1, 10), 10**30]
    assert p.cost_exact.fractions() == [(2**63 + 1) ** 2, Fraction(1, 100), 10**60]
    assert p.upper_exact.fractions()[0] == 2**63 + 1 and p.matrix.data.tolist() == [float(2**63 + 1), 0.1, 1e30]


# -- numbers -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("values", [["1"], [True], [None], [1, False], [0.5, "1"], [float("nan")], [[1], [2, 3]], [1, float("inf")]])
def test_exact_takes_numbers_only(values: list[Any]) -> None:
    with pytest.raises(ValueError, match="number"):
        Exact.of(values)


def test_exact_keeps_to_its_limits() -> None:
    tiny = Exact.of([1e-140])
    assert (tiny * Exact.of([0])).reduced().den == 1 and (tiny + Exact.of([0.5])).fractions() == [Fraction(1, 2) + Fraction(1, 10**140)]
    # sums that leave int64 one step after another
    edge = Exact.of([2**62 - 1, -(2**62 - 1)])
    assert (edge + edge + edge).fractions() == [3 * (2**62 - 1), -3 * (2**62 - 1)]
    assert (edge * edge).fractions() == [(2**62 - 1) ** 2] * 2 and (edge * Exact.scalar(0.1) + edge).fractions()[0] == Fraction(11, 10) * (2**62 - 1)
    # decimals whose digits no float holds: the shortest decimal, not a neighbour
    for value in (4503599627370497.5, 393822778013381.56, 985441543022555.9, 0.1 + 0.2, 123456789.123456789, 5e-324, 1e22, 2**53 + 2.0):
        assert Exact.of([value, 1]).fractions() == [Fraction(str(value)), 1]
        assert Exact.of([value]).float().tolist() == [value]


# -- hashes ------------------------------------------------------------------------------------------------------------
def test_hashes_see_what_matters() -> None:
    model = depots()
    base = structure_hash(model)
    said = replace(model, name="other", params=tuple(replace(p, name=p.name + "_", meaning="?", unit="1") for p in model.params))
    assert structure_hash(said) == base
    assert structure_hash(replace(model, rows=model.rows[:1])) != base
    assert structure_hash(replace(model, variables=(replace(model.variables[0], kind="integer"), model.variables[1]))) != base
    assert data_hash(GOLDEN) == data_hash(dict(reversed(GOLDEN.items())))
    assert data_hash(GOLDEN) != data_hash(GOLDEN | {"f": {"North": 121, "South": 90}})


def test_difference_tells_what_differs() -> None:
    model = depots()
    p = ground(model, GOLDEN)
    shuffled = ground(replace(model, rows=model.rows[::-1], variables=model.variables[::-1]), GOLDEN)
    assert p.columns != shuffled.columns and p.difference(shuffled) is None
    turned = tuple(replace(r, left=r.right, right=r.left, relation=">=" if r.relation == "<=" else r.relation) for r in model.rows)
    assert p.difference(ground(replace(model, rows=turned), GOLDEN)) is None
    negated = replace(model.objective, sense="maximize", terms=tuple(replace(t, expr=n.Neg(t.expr)) for t in model.objective.terms))
    assert p.difference(ground(replace(model, objective=negated), GOLDEN)) is None
    other = ground(model, GOLDEN | {"q": {"North": 16, "South": 11}})
    assert p.difference(other) == "row 'capacity[South]' has other numbers than 'capacity[South]'"
    assert p.difference(ground(model, GOLDEN | {"f": {"North": 1, "South": 90}})) == \
        "objective coefficient of 'is_open[North]' is np.float64(1.0) instead of np.float64(120.0)"
    assert p.difference(ground(replace(model, rows=model.rows[:1]), GOLDEN)) == "3 rows instead of 5"


# -- pieces that extend a model ----------------------------------------------------------------------------------------
def limit_groups(m: Builder, host: n.Model) -> None:
    """At most so many of each group of switches: written for any model that has switches over one set."""
    switch = next(v for v in host.variables if v.kind == "binary" and len(v.indices) == 1)
    k = host.set_by[switch.indices[0].set]
    ix = Builder("host").set(k.symbol, k.noun).index(switch.indices[0].name)
    G = m.set("G", "group")
    g = G.index("g")
    inside = m.tuples("In", g, ix, noun="membership")
    most = m.param("most", g, integer=True, meaning="most of group {G}")
    y: Indexed = m.handle(switch.symbol)
    m.require("group_limit", sum_(ix, where=inside[g, ix])(y[ix]) <= most[g], forall=(g,), tightened_by="most",
              because="of each group only so many may be chosen")


def test_a_piece_extends_a_model_it_does_not_know() -> None:
    host = depots()
    bigger = extend(host, limit_groups, "groups")
    assert bigger.name == "depots+groups" and bigger.rows[:len(host.rows)] == host.rows
    data = GOLDEN | {"G": ["coast"], "In": [["coast", "North"], ["coast", "South"]], "most": {"coast": 1}}
    p, before = ground(bigger, data), ground(host, GOLDEN)
    assert p.columns == before.columns and p.rows == (*before.rows, "group_limit[coast]")
    assert (p.matrix[:before.n_rows] != before.matrix).nnz == 0
    assert p.matrix[[before.n_rows]].toarray().tolist() == [[1, 1, 0, 0, 0, 0, 0, 0]]
    both = p.point({"is_open[North]": 1, "is_open[South]": 1})
    assert Violation("group_limit[coast]", "row", Fraction(1)) in p.violations(both)


def test_a_piece_is_held_to_the_contract() -> None:
    def clumsy(m: Builder, host: n.Model) -> None:
        m.param("f", meaning="taken already")

    with pytest.raises(ModelError, match=r"model 'depots\+clumsy', symbol 'f': declared twice; rename one"):
        extend(depots(), clumsy, "clumsy")


def test_extending_keeps_idioms() -> None:
    m = Builder("shop")
    I = m.set("I", "machine")
    i = I.index("i")
    q = m.param("q", i, meaning="capacity")
    y, x = m.var("y", i, kind="binary", meaning="on"), m.var("x", i, meaning="made")
    m.maximize(made=(sum_(i)(x[i]), "made"))
    m.fixed_charge("on", x[i], y[i], q[i], forall=(i,), because="only when on")
    bigger = extend(m.build(), limit_groups, "groups")
    assert [d.name for d in bigger.idioms] == ["on"]
    p = ground(bigger, {"I": ["a", "b"], "q": {"a": 4, "b": 5}, "G": ["g"], "In": [["g", "a"]], "most": {"g": 0}})
    assert p.rows == ("group_limit[g]", "on[a]", "on[b]") and [r.origin for r in lower(bigger).rows] == ["", "on"]
