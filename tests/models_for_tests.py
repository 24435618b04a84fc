"""Small models that between them use the whole language, each with data: what every rendering must cope with.

Names are awkward on purpose (open, lambda_, sum, index, t, model, value): a rendering may not trip over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from orpipe.algebra.build import Builder, card, expr, first, given, last, sum_
from orpipe.algebra.nodes import DataCompare, Inequality, Model

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Sample:
    """status: what a solver must find."""

    name: str
    model: Model
    data: Data
    status: str = "optimal"


SAMPLES: dict[str, Sample] = {}


def sample(status: str = "optimal") -> Callable[[Callable[[Builder], Data]], Callable[[Builder], Data]]:
    """Registers the model that the function builds, with the data it returns.  Contract checks are tested elsewhere."""
    def register(make: Callable[[Builder], Data]) -> Callable[[Builder], Data]:
        builder = Builder(make.__name__)
        data = make(builder)
        SAMPLES[make.__name__] = Sample(make.__name__, builder.build(check=False), data, status)
        return make

    return register


def on_data(left: Any, op: Any, right: Any) -> DataCompare:
    """The comparisons that `given` does not write."""
    return DataCompare(expr(left), op, expr(right))


@sample()
def facility(m: Builder) -> Data:
    """Two plain sets, binaries, an idiom, several objective terms; a variable named like a builtin."""
    I, J = m.set("I", "depot"), m.set("J", "bakery", plural="bakeries")
    i, j = I.index("i"), J.index("j")
    f = m.param("f", i, name="opening_cost", unit="EUR/day", meaning="cost of keeping a depot open")
    q = m.param("q", i, name="capacity", unit="t/day", meaning="most that a depot can dispatch")
    d = m.param("d", j, name="demand", unit="t/day", meaning="what a bakery needs")
    c = m.param("c", i, j, name="carriage", unit="EUR/t", meaning="cost of carriage")
    y = m.var("y", i, kind="binary", name="open", meaning="1 if the depot is open")
    x = m.var("x", i, j, name="ship", unit="t/day", meaning="amount sent from a depot to a bakery")
    m.minimize(opening=(sum_(i)(f[i] * y[i]), "cost of open depots"),
               shipping=(sum_(i, j)(c[i, j] * x[i, j]), "cost of carriage"))
    m.require("demand_met", sum_(i)(x[i, j]) == d[j], forall=(j,),
              because="every bakery receives exactly its demand", tightened_by="d")
    m.fixed_charge("capacity_if_open", sum_(j)(x[i, j]), y[i], q[i], forall=(i,),
              because="only open depots dispatch, up to capacity")
    return {"I": ["North", "South"], "J": ["Alder", "Birch", "Cedar"], "f": {"North": 120, "South": 90},
            "q": {"North": 16, "South": 10}, "d": {"Alder": 5, "Birch": 6, "Cedar": 4},
            "c": {"North": {"Alder": 3, "Birch": 7, "Cedar": 5}, "South": {"Alder": 6, "Birch": 2, "Cedar": 4}}}


@sample()
def flow(m: Builder) -> Data:
    """A sparse tuple set with parameters on it, bounds by parameters, conditions that bind one component, a free
    variable; labels with spaces and accents."""
    N = m.set("N", "node")
    i, j = N.index("i"), N.index("j")
    A = m.tuples("A", i, j, noun="arc")
    b = m.param("b", i, name="supply", sign="any", meaning="supply of the node, negative for demand", unit="t")
    c = m.param("c", i, j, domain=A, name="cost", meaning="cost of sending one tonne along the arc", unit="EUR/t")
    u = m.param("u", i, j, domain=A, name="limit", meaning="most that the arc carries", unit="t")
    x = m.var("x", i, j, domain=A, name="sum", upper=u[i, j], meaning="amount sent along the arc", unit="t")
    v = m.var("v", i, name="index", lower=None, meaning="net outflow", unit="t", auxiliary=True)
    m.minimize(total=(sum_(i, j, where=A[i, j])(c[i, j] * x[i, j]), "cost of transport"))
    m.require("balance", sum_(j, where=A[i, j])(x[i, j]) - sum_(j, where=A[j, i])(x[j, i]) == v[i], forall=(i,),
              because="net outflow")
    m.require("index", v[i] == b[i], forall=(i,), because="net outflow is the supply")
    m.require("no_detour", x[i, j] + x[j, i] <= u[i, j], forall=(i, j), where=(A[i, j], A[j, i]),
              because="an arc and its reverse share their limit")
    return {"N": ["Old Town", "São-Luís", "C"],
                "A": [["Old Town", "São-Luís"], ["São-Luís", "Old Town"], ["São-Luís", "C"], ["Old Town", "C"]],
            "b": {"Old Town": 5, "São-Luís": 1.5, "C": -6.5},
            "c": {"Old Town": {"São-Luís": 1.25, "C": 4}, "São-Luís": {"Old Town": 1, "C": 2}},
            "u": {"Old Town": {"São-Luís": 3, "C": 4}, "São-Luís": {"Old Town": 3, "C": 4.75}}}


@sample()
def planning(m: Builder) -> Data:
    """Numbered periods: first, last, t - 1; integer variables, maximisation with a subtracted term and a constant,
    scalars."""
    P, T = m.set("P", "product"), m.set("T", "period", numbered=True)
    p, t = P.index("p"), T.index("t")
    price = m.param("r", p, t, name="value", meaning="price of one unit")
    cost = m.param("h", p, name="t", meaning="cost of keeping one unit for a period")
    need = m.param("d", p, t, name="demand", integer=True, meaning="most that can be sold")
    hours = m.param("H", t, name="hours", meaning="hours to work")
    start = m.param("s0", name="start", meaning="stock at the start")
    rent = m.param("R", name="rent", meaning="rent of the hall for the whole time")
    make = m.var("x", p, t, name="make", kind="integer", meaning="units made")
    sell = m.var("y", p, t, name="lambda_", upper=need[p, t], meaning="units sold")
    stock = m.var("s", p, t, name="stock", meaning="units in stock at the end of the period")
    m.maximize(revenue=(sum_(p, t)(price[p, t] * sell[p, t]), "revenue"),
               keeping=(-sum_(p, t)(cost[p] * stock[p, t]), "cost of stock"),
               rent=(-(rent * card(T) / 2) - 1.5, "rent"))
    m.require("first_balance", start + make[p, t] == sell[p, t] + stock[p, t], forall=(p, t), where=t == first,
              because="stock in the first period")
    m.require("balance", stock[p, t - 1] + make[p, t] == sell[p, t] + stock[p, t], forall=(p, t), where=t > first,
              because="stock carries over")
    m.require("work", sum_(p)(make[p, t] * Fraction(3, 2)) <= hours[t], forall=(t,), because="hours are limited")
    m.require("smooth", make[p, t + 1] - make[p, t] <= 4, forall=(p, t), where=t < last,
              because="production rises slowly")
    m.require("close", sum_(p)(stock[p, t]) >= 2, forall=(t,), where=t == last,
              because="something must be left at the end")
    return {"P": ["A", "B"], "T": [1, 2, 3], "r": {"A": {"1": 4, "2": 5.5, "3": 3}, "B": {"1": 2, "2": 6, "3": 7}},
            "h": {"A": 0.1, "B": 0.35}, "d": {"A": {"1": 3, "2": 8, "3": 4}, "B": {"1": 2, "2": 4, "3": 6}},
            "H": {"1": 10.5, "2": 12, "3": 9}, "s0": 1, "R": 7}


@sample()
def roster(m: Builder) -> Data:
    """Cyclic days, labelled and numbered; shifts by one and by more; tuple sets of two different sets."""
    D, S = m.set("D", "day", cyclic=True), m.set("S", "slot", cyclic=True, numbered=True)
    d, e, s = D.index("d"), D.index("e"), S.index("s")
    C = m.tuples("C", d, e, noun="cover", name="covers")
    O = m.tuples("O", d, s, noun="opening")
    r = m.param("r", d, name="required", integer=True, meaning="people needed")
    w = m.param("w", d, s, domain=O, name="wage", meaning="wage of a slot")
    x = m.var("x", d, name="starts", kind="integer", meaning="people who start")
    z = m.var("z", d, s, domain=O, name="extra", kind="integer", upper=3, meaning="extra people in a slot")
    m.minimize(people=(sum_(d)(x[d]), "people"), extra=(sum_(d, s,
              where=O[d, s])(w[d, s] * z[d, s]), "wages of extra people"))
    m.require("staffed", x[d] + x[d - 1] + x[d - 2] + sum_(s, where=O[d, s])(z[d, s]) >= r[d], forall=(d,),
              because="enough people every day")
    m.require("rest", sum_(e, where=C[d, e])(x[e]) <= 9, forall=(d,), where=(d + 1 != first),
              because="not too many starts together")
    m.require("even", z[d, s] + z[d, s + 1] <= 4, forall=(d, s), where=(O[d, s], O[d, s + 1]),
              because="neighbouring slots share people")
    m.require("night", z[d, s - 2] <= 2, forall=(d, s), where=(O[d, s - 2], s - 1 > first), because="nights are short")
    return {"D": ["Mon", "Tue", "Wed", "Thu", "Fri"], "S": [1, 2, 3],
                "C": [["Mon", "Tue"], ["Tue", "Mon"], ["Mon", "Wed"], ["Wed", "Thu"], ["Thu", "Fri"]],
            "O": [["Mon", 1], ["Mon", 2], ["Tue", 2], ["Tue", 3], ["Fri", 1]],
            "r": {"Mon": 7, "Tue": 4, "Wed": 3, "Thu": 5, "Fri": 8},
            "w": {"Mon": {"1": 0.5, "2": 0.25}, "Tue": {"2": 0.75, "3": 2}, "Fri": {"1": 0.125}}}


@sample()
def shop(m: Builder) -> Data:
    """Disjunctions over a derived set with i < j, conditions on data, an ordered labelled set with shifts, an auxiliary
    maximum; index letters that are names elsewhere (model, h, pyo)."""
    J, M = m.set("J", "job"), m.set("M", "machine", ordered=True)
    j, k, h = J.index("j"), J.index("k"), M.index("h")
    P = m.tuples("P", j, k, noun="pair", where=j < k)
    r = m.param("r", j, h, name="model", integer=True, meaning="place of the machine in the job's route")
    p = m.param("p", j, h, name="duration", meaning="hours on the machine", unit="hour")
    due = m.param("due", j, name="due", meaning="time by which the job must be done", unit="hour")
    s = m.var("s", j, h, name="start", meaning="start on the machine", unit="hour")
    C = m.var("C", name="makespan", meaning="end of the last job", unit="hour", auxiliary=True)
    g = M.index("g")
    horizon = sum_(j, h)(p[j, h])
    m.minimize(makespan=(C[()], "time until all is done"))
    m.require("route", s[j, h] >= s[j, g] + p[j, g], forall=(j, g, h), where=given(r[j, h] == r[j, g] + 1),
              because="operations follow the route")
    m.either_or("apart", s[j, h] + p[j, h] <= s[k, h], s[k, h] + p[k, h] <= s[j, h], horizon,
              symbol="b", meaning="1 if the first job goes first",
                because="one job at a time", forall=(j, k, h), where=j < k, code_name="before")
    m.maximum("ends", C[()], s[j, h] + p[j, h], over=(j, h), because="the last job ends at the makespan")
    m.require("late", s[j, h] + p[j, h] <= due[j], forall=(j, h), where=h == last, because="jobs are done in time")
    m.require("warm", s[j, h] >= s[k, h - 1] + 0.5, forall=(j, k, h),
              where=(P[j, k], h > first, on_data(p[j, h], ">", p[k, h])), because="machines warm up")
    return {"J": ["red", "blue", "green"], "M": ["cut", "drill", "paint"], "due": {"red": 16, "blue": 16, "green": 16},
            "r": {"red": {"cut": 1, "drill": 2, "paint": 3},
            "blue": {"cut": 2, "drill": 1, "paint": 3}, "green": {"cut": 1, "drill": 2, "paint": 3}},
            "p": {"red": {"cut": 2, "drill": 1.5, "paint": 2},
            "blue": {"cut": 1, "drill": 3, "paint": 2}, "green": {"cut": 2, "drill": 1, "paint": 1.25}}}


@sample()
def oddities(m: Builder) -> Data:
    """Tuple sets of one component, stored and derived; negated membership, shifted comparisons, decimal conditions,
    bounds by expressions, division by data, negative coefficients, a tuple set of three, a lone free variable, data on
    the left of a row."""
    T, W = m.set("T", "stage", ordered=True), m.set("W", "worker")
    t, s, w = T.index("t"), T.index("s"), W.index("w")
    E = m.tuples("E", w, noun="expert")
    L = m.tuples("L", t, noun="late stage", where=(t > first, t < last))
    Q = m.tuples("Q", w, t, s, noun="move", name="moves")
    V = m.tuples("V", t, s, noun="step", where=(t + 1 <= s, t != s))
    a = m.param("a", t, name="a", meaning="decimal", sign="positive")
    b = m.param("b", t, s, name="b", meaning="on the product of stages")
    e = m.param("e", w, domain=E, name="skill", meaning="skill of an expert")
    f = m.param("f", t, s, domain=V, name="effort", meaning="effort of a step", sign="any")
    q = m.param("q", w, t, s, domain=Q, name="quota", meaning="quota of a move")
    x = m.var("x", t, name="x", kind="integer", lower=-a[t] * 2, upper=a[t] + b[t, t] / a[t], meaning="level")
    y = m.var("y", w, domain=E, name="y", upper=5, meaning="work of an expert")
    z = m.var("z", name="z", lower=None, upper=sum_(t)(a[t]), meaning="shortfall")
    v = m.var("v", t, s, domain=V, name="v", kind="binary", meaning="1 if the step is taken")
    u = m.var("u", w, t, s, domain=Q, name="u", lower=Fraction(1, 3), meaning="moved")
    o = m.var("o", t, domain=L, name="o", lower=-2, upper=None, meaning="other")
    m.minimize(cost=(sum_(t)(x[t] * a[t]) + -2 * z[()] + sum_(w,
              where=E[w])(e[w] * y[w]) + sum_(t, s, where=V[t, s])(f[t, s] * v[t, s])
                     + sum_(w, t, s, where=Q[w, t, s])(u[w, t, s] / q[w, t, s]) + sum_(t, where=L[t])(o[t]), "cost"))
    m.require("near", x[t] - x[s] <= sum_(w, where=E[w])(y[w]) / card(W) + 3, forall=(t, s), where=(t + 1 == s,),
              because="neighbours are close")
    m.require("far", x[t] + x[s] >= -(a[t] + a[s] - 1), forall=(t, s), where=(t < s - 1,),
              because="others are not too low")
    m.require("some", sum_(t, s, where=(V.without(t, s), t != s))(x[t]) >= z[()] - 30, because="not in V")
    m.require("exactly", x[t] <= 7, forall=(t, s), where=(given(a[t] + b[t, s] == 0.3),),
              because="decimals that add up")
    m.require("above", x[t] >= -3, forall=(t, s), where=(on_data(a[t] + b[t, s], ">", 0.3), given(b[t, s] >= 0.2)),
              because="decimals above")
    m.require("unlike", x[t] <= 9, forall=(t,), where=(on_data(a[t] * a[t], "!=", 0.01), on_data(a[t], "<", 0.75)),
              because="decimals that differ")
    m.require("prior", x[t] >= -4, forall=(t, s), where=(V[t - 1, s], t > first), because="shifted membership")
    m.require("unprior", x[t] >= -5, forall=(t, s), where=(V.without(t + 1, s),),
              because="shifted membership off the end")
    m.require("ends", x[t + 2] >= x[t] - 8, forall=(t,), where=(t + 1 < last,), because="two ahead")
    m.require("choose", sum_(s, t, where=V[t, s])(v[t, s]) >= 2, because="at least two steps")
    m.require("quota", u[w, t, s] <= q[w, t, s] * v[t, s] + y[w], forall=(w, t, s), where=(Q[w, t, s], V[t, s], E[w]),
              because="moves need steps")
    m.require("limit", Inequality(expr(2), "<=", expr(y[w] + z[()])), forall=(w,), where=E[w],
              because="data on the left")
    m.require("back", o[t] >= x[t - 1] - x[t + 1], forall=(t,), where=L[t], because="derived singles")
    return {"T": ["t1", "t2", "t3", "t4"], "W": ["Ann", "Bob", "Cy"], "E": [["Ann"], ["Cy"]],
                "Q": [["Ann", "t1", "t2"], ["Cy", "t1", "t3"], ["Bob", "t3", "t1"]],
            "a": {"t1": 0.1, "t2": 2, "t3": 0.7, "t4": 1.3}, "e": {"Ann": 3, "Cy": 1.5},
            "b": {x: {y: 0.2 if x < y else 1 for y in ("t1", "t2", "t3", "t4")} for x in ("t1", "t2", "t3", "t4")},
            "f": {"t1": {"t2": 1, "t3": -0.5, "t4": 2}, "t2": {"t3": 3, "t4": 1e-05}, "t3": {"t4": 1}},
            "q": {"Ann": {"t1": {"t2": 4}}, "Cy": {"t1": {"t3": 3}}, "Bob": {"t3": {"t1": 7}}}}


@sample()
def idioms(m: Builder) -> Data:
    """Every logical idiom, in its default reformulation."""
    S, I = m.set("S", "segment", ordered=True), m.set("I", "item")
    k, i = S.index("k"), I.index("i")
    width = m.param("width", i, k, name="width", meaning="width of a segment")
    slope = m.param("slope", i, k, name="slope", meaning="price in a segment")
    low = m.param("low", i, name="low", meaning="least lot")
    goal = m.param("goal", name="goal", meaning="amount wanted")
    big = m.param("M", name="big", meaning="a large number")
    x = m.var("x", i, name="buy", upper=20, meaning="amount bought")
    c = m.var("c", i, name="spend", meaning="money spent", auxiliary=True)
    y = m.var("y", i, name="use", kind="binary", meaning="1 if used")
    gap = m.var("gap", name="gap", meaning="deviation from the goal", auxiliary=True)
    top, least = m.var("top", name="top",
              meaning="largest", auxiliary=True), m.var("least", name="least", meaning="smallest", auxiliary=True)
    m.minimize(spend=(sum_(i)(c[i]), "money spent"), miss=(gap * 3, "deviation"),
               spread=(top - least, "spread"), fee=(sum_(i)(y[i]) / 2, "fees"))
    m.piecewise("price", x[i], c[i], k, width, slope, symbol="seg", unit="1", forall=(i,),
              because="the price falls in steps")
    m.semicontinuous("lot", x[i], low[i], 20, symbol="lot", meaning="1 if bought", forall=(i,),
              because="none or at least a lot")
    m.absolute("miss", gap[()], sum_(i)(x[i]) - goal[()], because="deviation from the goal")
    m.maximum("largest", top[()], x[i], over=(i,), because="largest amount")
    m.minimum("smallest", least[()], x[i], over=(i,), because="smallest amount")
    m.fixed_charge("used", x[i], y[i], 20, forall=(i,), because="buying takes a contract")
    m.implies("if_used", y[i], x[i] >= low[i], big[()], forall=(i,), because="a contract binds")
    m.require("any", sum_(i)(y[i]) >= 1, because="at least one contract")
    return {"S": ["s1", "s2"], "I": ["p", "q", "r"], "goal": 17, "M": 100, "low": {"p": 2, "q": 3, "r": 4},
            "width": {x: {"s1": 5, "s2": 15} for x in "pqr"},
            "slope": {"p": {"s1": 1, "s2": 2}, "q": {"s1": 1.5, "s2": 1.75}, "r": {"s1": 1, "s2": 4}}}


@sample()
def idle(m: Builder) -> Data:
    """Columns that no row and no objective term uses, zero coefficients, a row without coefficients, an empty row
    family."""
    I = m.set("I", "item")
    i, j = I.index("i"), I.index("j")
    c = m.param("c", i, name="class", meaning="cost")
    a = m.param("a", i, name="def", meaning="yield")
    big = m.tuples("B", i, name="big_items", noun="big item", where=on_data(c[i], ">", 100))
    x = m.var("x", i, name="x", meaning="amount")
    y = m.var("y", i, j, name="y", upper=4, meaning="pair")
    n = m.var("n", name="n", kind="integer", upper=9, meaning="nothing")
    m.minimize(cost=(sum_(i)(c[i] * x[i]), "cost"), zero=(0 * n, "nothing"))
    m.require("enough", sum_(i)(a[i] * x[i]) + sum_(i, j, where=i != j)(a[i] * y[i, j]) >= 12, because="enough in all")
    m.require("vacuous", a[i] * x[i] <= 50, forall=(i,), because="may have no coefficient")
    m.require("none", x[i] <= 1, forall=(i,), where=big[i], because="no item is that dear")
    return {"I": ["a", "b", "c"], "c": {"a": 2, "b": 0, "c": 3}, "a": {"a": 1, "b": 0, "c": 1.5}}


@sample()
def any_plan(m: Builder) -> Data:
    """No objective at all."""
    I = m.set("I", "item")
    i = I.index("i")
    x = m.var("x", i, name="x", upper=2, meaning="amount")
    m.minimize()
    m.require("need", sum_(i)(x[i]) >= 3, because="need")
    return {"I": ["a", "b"]}


@sample("infeasible")
def impossible(m: Builder) -> Data:
    I = m.set("I", "item")
    i = I.index("i")
    d = m.param("d", name="need", meaning="need")
    x = m.var("x", i, name="x", kind="integer", upper=2, meaning="amount")
    m.minimize(cost=(sum_(i)(x[i]), "cost"))
    m.require("need", sum_(i)(x[i]) >= d[()], because="need")
    return {"I": ["a", "b"], "d": 5}


@sample("unbounded")
def endless(m: Builder) -> Data:
    I = m.set("I", "item")
    i = I.index("i")
    d = m.param("d", name="room", meaning="room")
    x = m.var("x", i, name="x", meaning="amount")
    y = m.var("y", name="y", meaning="more room")
    m.maximize(gain=(sum_(i)(x[i]), "gain"))
    m.require("room", sum_(i)(x[i]) <= d + y[()], because="room")
    return {"I": ["a", "b"], "d": 5}


@sample("unbounded")
def endless_whole(m: Builder) -> Data:
    """Unbounded with integer variables, which presolve alone may call infeasible."""
    x = m.var("x", name="x", meaning="amount")
    y = m.var("y", name="y", kind="integer", meaning="more room")
    m.maximize(gain=(x + y, "gain"))
    m.require("room", x <= y + 5, because="room")
    return {}
