"""The static contract: what it refuses, in which words, and the textbook models it must let pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from orpipe.algebra import nodes as n
from orpipe.algebra.build import Builder, Indexed, Ix, SetHandle, first, given, sum_
from orpipe.algebra.contract import check_model
from orpipe.algebra.idioms import lower
from orpipe.errors import ModelError, NotFound

from . import textbook as book


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
    "row twice": (lambda h: list(map(h.add, [h.y[h.i] <= 1] * 2, [h.i] * 2)), "row 'row': declared twice; rename one"),
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
    model = book.absolute(big_m=False)
    with pytest.raises(NotFound, match="idiom 'gap' declares no big_m, which its reformulation 'signed' needs; use two_rows"):
        lower(model, {"gap": "signed"})
    with pytest.raises(NotFound, match="no reformulation 'sined' of absolute; did you mean 'signed'"):
        lower(model, {"gap": "sined"})
    with pytest.raises(NotFound, match="no idiom 'gab'; did you mean 'gap'"):
        lower(model, {"gab": "signed"})


# -- textbook models ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [
    book.transportation, book.diet, book.knapsack, lambda: book.tsp(False), lambda: book.tsp(True), book.job_shop, book.lot_sizing,
    book.staff, book.piecewise, book.min_cost_flow, book.portfolio, book.fair_shares, book.absolute, lambda: book.absolute(False),
    book.covering_and_packing, book.bin_packing,
])
def test_textbook_models_pass(make: Callable[[], n.Model]) -> None:
    model = make()
    check_model(model)
    assert lower(model).idioms == () and len(lower(model).rows) >= len(model.rows)


def test_a_wrong_sense_in_a_textbook_model_is_refused() -> None:
    model = book.transportation()
    demand = replace(model.row_by["demand"], relation="<=")
    with pytest.raises(ModelError, match="objective: is best with all quantities at 0"):
        check_model(replace(model, rows=(model.rows[0], demand)))
    backwards = replace(model, objective=replace(model.objective, sense="maximize"), rows=(model.rows[1],), params=model.params[1:])
    with pytest.raises(ModelError, match="'x' is rewarded and no row or bound limits it from above"):
        check_model(backwards)


def test_a_sum_may_be_empty() -> None:
    h = Host()
    h.add(h.r[h.k] * sum_(h.i)(h.y[h.i]) + sum_(h.K.index("l"), where=given(h.r[h.K.index("l")] > h.r[h.k]))(h.r[h.K.index("l")]) <= 0, h.k)
    assert h.m.build().row_by["row"].relation == "<="
