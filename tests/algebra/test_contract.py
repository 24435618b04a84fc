"""The static contract: what it refuses, in which words, and the textbook models it must let pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from orpipe.algebra import nodes as n
from orpipe.algebra.build import Builder, Indexed, Ix, SetHandle, card, first, given, sum_
from orpipe.algebra.contract import check_model
from orpipe.algebra.idioms import lower
from orpipe.errors import ModelError, NotFound


class Host:
    """A sound model to break: the cheapest mix of feeds that holds enough of each nutrient, over periods."""

    def __init__(self, name: str = "host") -> None:
        m = self.m = Builder(name)
        self.I: SetHandle = m.set("I", "feed")
        self.K: SetHandle = m.set("K", "nutrient")
        self.T: SetHandle = m.set("T", "period", numbered=True)
        self.i, self.k, self.t = self.I.index("i"), self.K.index("k"), self.T.index("t")
        self.c: Indexed = m.param("c", self.i, name="price", unit="money/t", meaning="price")
        self.a: Indexed = m.param("a", self.i, self.k, name="content", unit="kg/t", meaning="content")
        self.r: Indexed = m.param("r", self.k, name="need", unit="kg", meaning="need", sign="positive")
        self.x: Indexed = m.var("x", self.i, self.t, name="feed_mix", unit="t", meaning="amount of feed")
        self.y: Indexed = m.var("y", self.i, kind="binary", name="bought", meaning="1 if bought")
        m.minimize(cost=(sum_(self.i, self.t)(self.c[self.i] * self.x[self.i, self.t]), "cost"))
        m.require("needs", sum_(self.i)(self.a[self.i, self.k] * self.x[self.i, self.t]) >= self.r[self.k],
                  forall=(self.k, self.t), because="enough of each")
        m.require("use", sum_(self.i)(self.y[self.i]) >= 1, because="something is bought")

    def add(self, relation: n.Inequality, *forall: Ix, where: n.Cond | None = None) -> None:
        self.m.require("row", relation, forall=forall, where=where, because="for a reason")


def test_the_host_is_sound() -> None:
    assert Host().m.build().name == "host"


BREACHES: dict[str, tuple[Callable[[Host], object], str]] = {
    "unknown parameter": (
        lambda h: h.add(h.y[h.i] <= Indexed("z", n.ParamRef)[h.i], h.i), "row row: unknown parameter 'z'"),
    "unknown variable": (
        lambda h: h.add(h.y[h.i] <= Indexed("z", n.VarRef)[h.i], h.i), "row row: unknown variable 'z'"),
    "unknown set": (
        lambda h: h.add(sum_(SetHandle("Z").index("z"))(h.y[h.i]) <= 1, h.i), "row row: index z runs over unknown set 'Z'"),
    "unknown index": (
        lambda h: h.add(h.y[h.I.index("j")] <= 1, h.i), "row row: free index 'j'; bind it in forall or in the sum"),
    "free index": (lambda h: h.add(h.y[h.i] <= 1), "row row: free index 'i'; bind it in forall or in the sum"),
    "free index in the objective": (
        lambda h: h.m.minimize(cost=(h.c[h.i] * h.x[h.i, h.t], "cost")), "objective term cost: free index 'i'"),
    "free index in a condition": (
        lambda h: h.add(h.y[h.i] <= 1, h.i, where=h.t > first), "row row: free index 't'"),
    "free index in a bound": (
        lambda h: h.m.var("z", h.i, upper=h.r[h.k], unit="kg", meaning="z"), "variable z: free index 'k'"),
    "index over the wrong set": (
        lambda h: h.add(h.y[h.k] <= 1, h.k), "row row: index k of y runs over K, but I is due"),
    "too few indices": (lambda h: h.add(h.x[h.i] <= 1, h.i), "row row: x takes 2 indices, not 1"),
    "subscript on a scalar": (
        lambda h: h.add(h.y[h.i] <= h.m.param("p", meaning="p")[h.i], h.i), "row row: p takes 0 indices, not 1"),
    "shift along an unordered set": (
        lambda h: h.add(h.y[h.i] <= h.y[h.i - 1], h.i), "row row: i-1 shifts along I, which is not ordered"),
    "first of an unordered set": (
        lambda h: h.add(h.y[h.i] <= 1, h.i, where=h.i > first), "row row: condition i > first needs an ordered set"),
    "shift in a condition": (
        lambda h: h.add(h.y[h.i] <= 1, h.i, h.t, where=h.i + 1 != h.i), "row row: i+1 shifts along I"),
    "comparison across sets": (
        lambda h: h.add(h.x[h.i, h.t] >= h.x[h.i, h.t + 1], h.i, h.t, h.k, where=h.i != h.k),
        "row row: condition i != k compares elements of different sets"),
    "membership in a plain set": (
        lambda h: h.add(h.y[h.i] <= 1, h.i, where=h.K[h.i]), "row row: condition i in K: 'K' is not a tuple set"),
    "membership of too few": (
        lambda h: h.add(h.y[h.i] <= 1, h.i, where=h.m.tuples("A", h.i, h.k, noun="arc")[h.i]), "row row: A takes 2 indices, not 1"),
    "bound twice": (
        lambda h: h.add(sum_(h.i)(h.y[h.i]) <= h.y[h.i], h.i), "row row: index i is bound twice; use another letter"),
    "forall twice": (lambda h: h.add(h.y[h.i] <= 1, h.i, h.i), "row row: index i is bound twice"),
    "sum over nothing": (lambda h: h.add(sum_()(h.y[h.i]) <= 1, h.i), "row row: sum{} y[i] sums over no index"),
    "index over tuples": (
        lambda h: h.add(sum_(h.m.tuples("A", h.i, h.k, noun="arc").index("e"))(h.y[h.i]) <= 1, h.i),
        "row row: index e runs over tuple set 'A'"),
    "domain of another shape": (
        lambda h: h.m.param("p", h.i, domain=h.m.tuples("A", h.i, h.k, noun="arc"), meaning="p"),
        "parameter p: its indices do not match the components of domain 'A'"),
    "condition without index": (
        lambda h: h.add(sum_(h.i)(h.y[h.i]) <= 1, where=given(h.m.param("p", meaning="p") <= 1)),
        "row row: has a condition but no index"),
    "units of a row": (
        lambda h: h.add(h.x[h.i, h.t] <= h.r[h.k], h.i, h.t, h.k), "row row: left side is in [tonne], right side in [kilogram]"),
    "a bare number with a unit": (
        lambda h: h.add(h.x[h.i, h.t] <= 5, h.i, h.t), "row row: left side is in [tonne], right side in [dimensionless]"),
    "units of a sum": (
        lambda h: h.add(h.x[h.i, h.t] + h.y[h.i] >= h.x[h.i, h.t], h.i, h.t), "row row: x[i,t] + y[i] adds [tonne] and [dimensionless]"),
    "units of the objective": (
        lambda h: h.m.minimize(cost=(sum_(h.i, h.t)(h.c[h.i] * h.x[h.i, h.t]), "cost"), count=(sum_(h.i)(h.y[h.i]), "count")),
        "objective term count: is in [dimensionless], the terms before it in [money]"),
    "units of a bound": (
        lambda h: h.m.var("z", h.k, upper=h.r[h.k], unit="t", meaning="z"), "variable z: bound r[k] is in [kilogram], not in [t]"),
    "units of a condition": (
        lambda h: h.add(h.y[h.i] <= 1, h.i, h.k, where=given(h.r[h.k] <= 1)),
        "row row: condition r[k] <= 1 compares [kilogram] with [dimensionless]"),
    "days and hours": (
        lambda h: h.add(h.m.param("p", meaning="p", unit="hour") * h.y[h.i] <= h.m.param("q", meaning="q", unit="day"), h.i),
        "row row: left side is in [hour], right side in [day]"),
    "unknown unit": (lambda h: h.m.param("p", meaning="p", unit="bananas"), "parameter p: unknown unit 'bananas'"),
    "product of variables": (
        lambda h: h.add(h.y[h.i] * h.y[h.i] <= 1, h.i), "row row: y[i]*y[i] multiplies variables; the model must be linear"),
    "product deep inside": (
        lambda h: h.add(sum_(h.t)(h.x[h.i, h.t] * (1 - h.y[h.i])) <= h.x[h.i, h.t], h.i), "multiplies variables"),
    "division by a variable": (
        lambda h: h.add(1 / h.y[h.i] <= 1, h.i), "row row: 1/y[i] divides by a variable; the model must be linear"),
    "division by zero": (lambda h: h.add(h.y[h.i] / 0 <= 1, h.i), "row row: y[i]/0 divides by zero"),
    "variable in a bound": (
        lambda h: h.m.var("z", h.i, upper=h.y[h.i], meaning="z"), "variable z: y[i] holds a variable where data are due"),
    "variable in a condition": (
        lambda h: h.add(h.y[h.i] <= 1, h.i, where=given(h.y[h.i] <= 1)), "row row: y[i] holds a variable where data are due"),
    "row without variables": (lambda h: h.add(h.r[h.k] <= h.r[h.k], h.k), "row row: holds no variable"),
    "objective without variables": (
        lambda h: h.m.minimize(cost=(h.m.param("p", meaning="p") + 1, "cost")), "objective: holds no variable"),
    "unused parameter": (lambda h: h.m.param("p", h.i, meaning="p"), "parameter p: is declared and never used"),
    "unused variable": (lambda h: h.m.var("z", h.i, meaning="z"), "variable z: is declared and never used"),
    "unused set": (lambda h: h.m.set("Z", "zebra"), "set Z: is declared and never used"),
    "unused tuples": (lambda h: h.m.tuples("A", h.i, h.k, noun="arc"), "set A: is declared and never used"),
    "row always true": (lambda h: h.add(h.x[h.i, h.t] >= 0, h.i, h.t), "row row: always holds, by the signs of its sides"),
    "row always true, sums": (
        lambda h: h.add(-sum_(h.i)(h.a[h.i, h.k] * h.x[h.i, h.t]) <= h.r[h.k], h.k, h.t), "row row: always holds"),
    "row never true": (lambda h: h.add(h.y[h.i] <= -1, h.i), "row row: can never hold, by the signs of its sides"),
    "row never true, data": (
        lambda h: h.add(sum_(h.i)(h.a[h.i, h.k] * h.x[h.i, h.t]) + h.r[h.k] <= 0, h.k, h.t), "row row: can never hold"),
    "equation never true": (lambda h: h.add(sum_(h.i)(h.y[h.i]) + 1 == 0), "row row: can never hold"),
    "objective that nothing holds": (
        lambda h: turn(h), "objective: is best with all quantities at 0, which no row forbids; check senses and relations"),
    "rewarded without limit": (
        lambda h: h.m.maximize(gain=(sum_(h.i, h.t)(h.c[h.i] * h.x[h.i, h.t]), "gain")),
        "objective: 'x' is rewarded and no row or bound limits it from above"),
    "charged without limit": (
        lambda h: h.m.minimize(cost=(sum_(h.i, h.t)(h.c[h.i] * h.x[h.i, h.t]), "cost"),
                               more=(h.m.var("z", lower=None, unit="money", meaning="z"), "z")),
        "objective: 'z' is charged and no row or bound limits it from below"),
    "symbol twice": (lambda h: h.m.param("x", h.i, name="other", meaning="p"), "symbol 'x': declared twice; rename one"),
    "code name twice": (lambda h: h.m.param("p", h.i, name="price", meaning="p"), "code name 'price': declared twice; rename one"),
    "row twice": (lambda h: [h.add(h.y[h.i] <= 1, h.i) for _ in range(2)], "row 'row': declared twice; rename one"),
    "symbol that is no identifier": (lambda h: h.m.param("x'", h.i, meaning="p"), "symbol 'x'': must be an identifier"),
    "code name that is no identifier": (lambda h: h.m.set("Z", "zebra", name="zebra list"), "code name 'zebra list': must be an"),
    "code name that is Python": (lambda h: h.m.param("p", name="lambda", meaning="p"), "code name 'lambda': must be an identifier"),
    "row that is no identifier": (
        lambda h: h.m.require("a row", h.y[h.i] <= 1, forall=(h.i,), because="b"), "row 'a row': must be an identifier"),
    "word of the text form": (lambda h: h.m.param("first", meaning="p"), "symbol 'first': is a word of the plain-text form"),
    "index named like a parameter": (
        lambda h: h.add(h.y[h.I.index("c")] <= 1, h.I.index("c")), "row row: index 'c' is a name in use or no identifier"),
    "no meaning of a parameter": (lambda h: h.m.param("p", meaning=""), "parameter p: has no meaning in words"),
    "no meaning of a variable": (lambda h: h.m.var("z", meaning=" "), "variable z: has no meaning in words"),
    "no meaning of a term": (lambda h: h.m.minimize(cost=(sum_(h.i)(h.y[h.i]), "")), "objective term cost: has no meaning in words"),
    "no reason": (
        lambda h: h.m.require("row", h.y[h.i] <= 1, forall=(h.i,), because=""), "row row: has no reason (because=...) in words"),
    "meaning of two lines": (lambda h: h.m.param("p", meaning="a\nb"), "parameter p: its meaning must be one line"),
    "tightened by nothing": (
        lambda h: h.m.require("row", h.y[h.i] <= 1, forall=(h.i,), because="b", tightened_by="zz"),
        "row row: tightened_by names unknown parameter"),
    "set on itself": (
        lambda h: circular(h), "set P: its condition stands on 'P', which must be declared before it"),
    "piecewise along an unordered set": (
        lambda h: h.m.piecewise("pw", h.y[h.i], h.y[h.i], h.k, *[h.m.param(s, h.i, h.k, meaning=s) for s in "uv"], because="b",
                                symbol="zz", unit="1", forall=(h.i,)),
        "row pw_full: condition k > first needs an ordered set"),
}


def turn(h: Host) -> None:
    """Every row the other way round."""
    h.m._rows = [replace(r, relation="<=") for r in h.m._rows]


def circular(h: Host) -> None:
    h.m._sets.append(n.SetDecl("P", "P", "pair", "pairs", over=(h.i.index, h.k.index),
                               where=n.DataCompare(n.ParamRef("p", (n.Ref("i"), n.Ref("k"))), ">", n.ZERO)))
    h.m.param("p", h.i, h.k, domain=SetHandle("P"), meaning="p")


@pytest.mark.parametrize("case", BREACHES)
def test_breaches_are_refused_in_one_line(case: str) -> None:
    act, message = BREACHES[case]
    host = Host("fodder")
    act(host)
    with pytest.raises(ModelError) as caught:
        host.m.build()
    said = str(caught.value)
    assert said.startswith("model 'fodder', ") and message in said and "\n" not in said


def test_faults_while_writing() -> None:
    h = Host()
    with pytest.raises(ModelError, match="index t is compared with 1; compare it with an index, first or last"):
        _ = h.t > 1
    for value in (True, float("nan"), float("inf"), "5", None):
        with pytest.raises(ModelError, match="is not an expression"):
            _ = h.y[h.i] + value
    with pytest.raises(ModelError, match=r"model 'host', row strict: .* is no relation with <=, >= or =="):
        h.m.require("strict", h.y[h.i] < 1, because="strict")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="declares no 'zz'"):
        h.m.handle("zz")
    with pytest.raises(ModelError, match="model 'empty' has no objective"):
        Builder("empty").build()


def test_scalars_compare_like_the_rest() -> None:
    m = Builder("scalar")
    p, x = m.param("p", meaning="p"), m.var("x", meaning="x")
    assert (x == p) == n.Inequality(n.VarRef("x"), "=", n.ParamRef("p"))
    assert (3 / x).node == n.Div(n.Num(Fraction(3)), n.VarRef("x"))
    assert (2 - x).node == n.Add((n.Num(Fraction(2)), n.Neg(n.VarRef("x"))))


def test_a_reformulation_that_cannot_be_is_refused() -> None:
    model = absolute(big_m=False)
    with pytest.raises(NotFound, match="idiom 'gap' declares no big_m, which its reformulation 'signed' needs; use two_rows"):
        lower(model, {"gap": "signed"})
    with pytest.raises(NotFound, match="no reformulation of absolute 'sined'; did you mean 'signed'"):
        lower(model, {"gap": "sined"})
    with pytest.raises(NotFound, match="no idiom 'gab'; did you mean 'gap'"):
        lower(model, {"gab": "signed"})


# -- textbook models ---------------------------------------------------------------------------------------------------
def transportation() -> n.Model:
    m = Builder("transportation")
    I, J = m.set("I", "plant"), m.set("J", "market")
    i, j = I.index("i"), J.index("j")
    s, d = m.param("s", i, unit="goods", meaning="supply"), m.param("d", j, unit="goods", meaning="demand")
    c = m.param("c", i, j, unit="money/goods", meaning="freight")
    x = m.var("x", i, j, unit="goods", meaning="shipped")
    m.minimize(freight=(sum_(i, j)(c[i, j] * x[i, j]), "freight"))
    m.require("supply", sum_(j)(x[i, j]) <= s[i], forall=(i,), because="supply")
    m.require("demand", sum_(i)(x[i, j]) >= d[j], forall=(j,), because="demand")
    return m.build()


def diet() -> n.Model:
    m = Builder("diet")
    F, N = m.set("F", "food"), m.set("N", "nutrient")
    f, k = F.index("f"), N.index("k")
    c, a = m.param("c", f, unit="money/serving", meaning="price"), m.param("a", f, k, unit="nutrient/serving", meaning="content")
    low, high = (m.param(s, k, unit="nutrient", meaning=s) for s in ("low", "high"))
    most = m.param("u", f, unit="serving", meaning="most")
    x = m.var("x", f, unit="serving", upper=most[f], meaning="servings")
    m.minimize(cost=(sum_(f)(c[f] * x[f]), "cost"))
    m.require("least", sum_(f)(a[f, k] * x[f]) >= low[k], forall=(k,), because="least")
    m.require("most", sum_(f)(a[f, k] * x[f]) <= high[k], forall=(k,), because="most")
    return m.build()


def knapsack() -> n.Model:
    m = Builder("knapsack")
    I = m.set("I", "item")
    i = I.index("i")
    v, w, b = m.param("v", i, unit="money", meaning="value"), m.param("w", i, unit="weight", meaning="weight"), \
        m.param("b", unit="weight", meaning="limit")
    x = m.var("x", i, kind="binary", meaning="packed")
    m.maximize(value=(sum_(i)(v[i] * x[i]), "value"))
    m.require("limit", sum_(i)(w[i] * x[i]) <= b, because="limit")
    return m.build()


def tsp(flow: bool) -> n.Model:
    m = Builder("tsp")
    N = m.set("N", "town", ordered=True)
    i, j = N.index("i"), N.index("j")
    P = m.tuples("P", i, j, noun="leg", where=i != j)
    c = m.param("c", i, j, domain=P, unit="distance", meaning="distance")
    x = m.var("x", i, j, domain=P, kind="binary", meaning="travelled")
    m.minimize(length=(sum_(i, j, where=P[i, j])(c[i, j] * x[i, j]), "length"))
    m.require("leave", sum_(j, where=P[i, j])(x[i, j]) == 1, forall=(i,), because="leave")
    m.require("enter", sum_(i, where=P[i, j])(x[i, j]) == 1, forall=(j,), because="enter")
    if flow:
        g = m.var("g", i, j, domain=P, auxiliary=True, meaning="parcels on board")
        m.require("carry", g[i, j] <= (card(N) - 1) * x[i, j], forall=(i, j), where=P[i, j], because="only on legs travelled")
        m.require("drop", sum_(j, where=P[j, i])(g[j, i]) - sum_(j, where=P[i, j])(g[i, j]) == 1, forall=(i,), where=i > first,
                  because="one parcel a town")
    else:
        u = m.var("u", i, upper=card(N) - 1, auxiliary=True, meaning="position")
        m.require("order", u[i] - u[j] + card(N) * x[i, j] <= card(N) - 1, forall=(i, j), where=(P[i, j], i > first, j > first),
                  because="no subtours")
        m.require("start", u[i] == 0, forall=(i,), where=n.Edge(i.ref, "=", "first"), because="start")
    return m.build()


def job_shop() -> n.Model:
    m = Builder("job_shop")
    J, O = m.set("J", "job"), m.set("O", "operation", numbered=True)
    j, k, o, q = J.index("j"), J.index("k"), O.index("o"), O.index("q")
    p = m.param("p", j, o, unit="hour", meaning="duration")
    r = m.param("r", j, o, meaning="machine")
    M = m.param("M", unit="hour", meaning="all durations added")
    D = m.tuples("D", j, o, k, q, noun="conflict", where=(j < k, given(r[j, o] == r[k, q])))
    s, C = m.var("s", j, o, unit="hour", meaning="start"), m.var("C", unit="hour", auxiliary=True, meaning="makespan")
    m.minimize(makespan=(C, "makespan"))
    m.maximum("last", C, s[j, o] + p[j, o], over=(j, o), because="last")
    m.require("route", s[j, o] >= s[j, o - 1] + p[j, o - 1], forall=(j, o), where=o > first, because="route")
    m.either_or("machine", s[j, o] + p[j, o] <= s[k, q], s[k, q] + p[k, q] <= s[j, o], M, symbol="y", meaning="1 if first",
                because="one at a time", forall=(j, o, k, q), where=D[j, o, k, q], domain=D)
    return m.build()


def lot_sizing() -> n.Model:
    m = Builder("lot_sizing")
    T = m.set("T", "period", numbered=True)
    t, k = T.index("t"), T.index("k")
    d, f, h = (m.param(s, t, unit=u, meaning=s) for s, u in (("d", "goods"), ("f", "money"), ("h", "money/goods")))
    s0 = m.param("s0", unit="goods", meaning="opening stock")
    x, s = m.var("x", t, unit="goods", meaning="made"), m.var("s", t, unit="goods", meaning="stock")
    y = m.var("y", t, kind="binary", meaning="set up")
    m.minimize(setup=(sum_(t)(f[t] * y[t]), "set-ups"), holding=(sum_(t)(h[t] * s[t]), "holding"))
    m.require("opening", s0 + x[t] == d[t] + s[t], forall=(t,), where=n.Edge(t.ref, "=", "first"), because="balance")
    m.require("balance", s[t - 1] + x[t] == d[t] + s[t], forall=(t,), where=t > first, because="balance")
    m.fixed_charge("setup", x[t], y[t], sum_(k)(d[k]), forall=(t,), because="set up before making")
    return m.build()


def staff() -> n.Model:
    m = Builder("staff")
    D = m.set("D", "day", cyclic=True)
    d = D.index("d")
    r, w = m.param("r", d, unit="worker", integer=True, meaning="need"), m.param("w", unit="money/worker", meaning="wage")
    x = m.var("x", d, kind="integer", unit="worker", meaning="start")
    m.minimize(wages=(w * sum_(d)(x[d]), "wages"))
    m.require("cover", x[d] + x[d - 1] + x[d - 2] + x[d - 3] + x[d - 4] >= r[d], forall=(d,), because="cover")
    return m.build()


def piecewise() -> n.Model:
    m = Builder("piecewise")
    I, K = m.set("I", "supplier"), m.set("K", "tier", numbered=True)
    i, k = I.index("i"), K.index("k")
    width, slope = m.param("w", i, k, unit="goods", meaning="width"), m.param("p", i, k, unit="money/goods", meaning="price")
    need = m.param("d", unit="goods", meaning="need")
    x, cost = m.var("x", i, unit="goods", meaning="bought"), m.var("v", i, unit="money", auxiliary=True, meaning="bill")
    m.minimize(bill=(sum_(i)(cost[i]), "bill"))
    m.require("need", sum_(i)(x[i]) >= need, because="need")
    m.piecewise("tiers", x[i], cost[i], k, width, slope, symbol="z", unit="goods", forall=(i,), because="tiers")
    return m.build()


def min_cost_flow() -> n.Model:
    m = Builder("flow")
    N = m.set("N", "node")
    i, j = N.index("i"), N.index("j")
    A = m.tuples("A", i, j, noun="arc")
    c, u = m.param("c", i, j, domain=A, unit="money/flow", meaning="cost"), m.param("u", i, j, domain=A, unit="flow", meaning="cap")
    b = m.param("b", i, sign="any", unit="flow", meaning="supply, negative for demand")
    x = m.var("x", i, j, domain=A, unit="flow", upper=u[i, j], meaning="flow")
    m.minimize(cost=(sum_(i, j, where=A[i, j])(c[i, j] * x[i, j]), "cost"))
    m.require("balance", sum_(j, where=A[i, j])(x[i, j]) - sum_(j, where=A[j, i])(x[j, i]) == b[i], forall=(i,), because="balance")
    return m.build()


def portfolio() -> n.Model:
    m = Builder("portfolio")
    S = m.set("S", "share")
    s = S.index("s")
    r, cost = m.param("r", s, sign="any", meaning="return"), m.param("g", s, unit="money", meaning="fee")
    low, high, budget = (m.param(p, unit="money", meaning=p) for p in ("low", "high", "budget"))
    most = m.param("most", integer=True, meaning="most shares")
    x, y = m.var("x", s, unit="money", meaning="invested"), m.var("y", s, kind="binary", meaning="held")
    m.maximize(gain=(sum_(s)(r[s] * x[s]), "gain"), fees=(-sum_(s)(cost[s] * y[s]), "fees"))
    m.require("budget", sum_(s)(x[s]) <= budget, because="budget")
    m.require("count", sum_(s)(y[s]) <= most, because="count")
    m.require("least", x[s] >= low * y[s], forall=(s,), because="lots")
    m.fixed_charge("held", x[s], y[s], high, forall=(s,), because="held")
    return m.build()


def fair_shares() -> n.Model:
    """Max-min: the smallest share is pressed up by the objective."""
    m = Builder("fair")
    I, B = m.set("I", "district"), m.set("B", "budget line")
    i, b = I.index("i"), B.index("b")
    a, q = m.param("a", i, b, unit="money", meaning="effect"), m.param("q", b, meaning="limit")
    x = m.var("x", b, meaning="share of the line")
    z = m.var("z", unit="money", lower=None, auxiliary=True, meaning="smallest effect")
    m.maximize(least=(z, "smallest effect"))
    m.minimum("least", z, sum_(b)(a[i, b] * x[b]), over=(i,), because="least")
    m.require("limit", x[b] <= q[b], forall=(b,), because="limit")
    return m.build()


def absolute(big_m: bool = True) -> n.Model:
    """Median: deviations from a free level."""
    m = Builder("median")
    I = m.set("I", "site")
    i = I.index("i")
    a, M = m.param("a", i, sign="any", unit="km", meaning="place"), m.param("M", unit="km", meaning="reach") if big_m else None
    z, v = m.var("z", lower=None, unit="km", meaning="level"), m.var("v", i, unit="km", auxiliary=True, meaning="deviation")
    m.minimize(total=(sum_(i)(v[i]), "total"))
    m.absolute("gap", v[i], a[i] - z, forall=(i,), because="deviation", big_m=M)
    if big_m:
        m.require("reach", v[i] <= M, forall=(i,), because="reach")
    return m.build()


def covering_and_packing() -> n.Model:
    m = Builder("set_covering")
    S, E = m.set("S", "station"), m.set("E", "district")
    s, e = S.index("s"), E.index("e")
    A = m.tuples("A", s, e, noun="reach", plural="reaches")
    c = m.param("c", s, unit="money", meaning="cost")
    y = m.var("y", s, kind="binary", meaning="built")
    m.minimize(cost=(sum_(s)(c[s] * y[s]), "cost"))
    m.require("cover", sum_(s, where=A[s, e])(y[s]) >= 1, forall=(e,), because="cover")
    return m.build()


def bin_packing() -> n.Model:
    m = Builder("bins")
    I, B = m.set("I", "item"), m.set("B", "bin", numbered=True)
    i, b = I.index("i"), B.index("b")
    w, q = m.param("w", i, unit="weight", meaning="weight"), m.param("q", unit="weight", meaning="capacity")
    x, y = m.var("x", i, b, kind="binary", meaning="packed"), m.var("y", b, kind="binary", meaning="used")
    m.minimize(bins=(sum_(b)(y[b]), "bins"))
    m.require("each", sum_(b)(x[i, b]) == 1, forall=(i,), because="each")
    m.fixed_charge("fit", sum_(i)(w[i] * x[i, b]), y[b], q, forall=(b,), because="fit")
    m.require("order", y[b] <= y[b - 1], forall=(b,), where=b > first, because="in order")
    return m.build()


@pytest.mark.parametrize("make", [
    transportation, diet, knapsack, lambda: tsp(False), lambda: tsp(True), job_shop, lot_sizing, staff, piecewise, min_cost_flow,
    portfolio, fair_shares, absolute, lambda: absolute(False), covering_and_packing, bin_packing,
])
def test_textbook_models_pass(make: Callable[[], n.Model]) -> None:
    model = make()
    check_model(model)
    assert lower(model).idioms == () and len(lower(model).rows) >= len(model.rows)


def test_a_wrong_sense_in_a_textbook_model_is_refused() -> None:
    model = transportation()
    demand = replace(model.row_by["demand"], relation="<=")
    with pytest.raises(ModelError, match="objective: is best with all quantities at 0"):
        check_model(replace(model, rows=(model.rows[0], demand)))
    backwards = replace(model, objective=replace(model.objective, sense="maximize"), rows=(model.rows[1],), params=model.params[1:])
    with pytest.raises(ModelError, match="'x' is rewarded and no row or bound limits it from above"):
        check_model(backwards)
