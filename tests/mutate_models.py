"""Small models with data for the tests of orpipe.mutate: between them every operator finds something to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orpipe.algebra.build import Builder, card, first, given, last, sum_
from orpipe.algebra.idioms import lower
from orpipe.algebra.nodes import Model


@dataclass(frozen=True)
class Example:
    model: Model  # linear
    data: dict[str, Any]


def depots() -> Example:
    """Capacitated facility location."""
    m = Builder("depots")
    I, J = m.set("I", "depot"), m.set("J", "bakery", plural="bakeries")
    i, j = I.index("i"), J.index("j")
    f = m.param("f", i, name="opening_cost", unit="money/day", meaning="daily cost of keeping a {I} open")
    q = m.param("q", i, name="capacity", unit="goods/day", meaning="most that a {I} can dispatch")
    r = m.param("r", i, name="reserve", unit="goods/day", meaning="reserve kept at a {I}")
    d = m.param("d", j, name="demand", unit="goods/day", meaning="daily need of a {J}")
    c = m.param("c", i, j, name="carriage", unit="money/goods", meaning="cost of carriage from {I} i to {J} j")
    y = m.var("y", i, kind="binary", name="open", meaning="1 if {I} i is open")
    x = m.var("x", i, j, name="ship", unit="goods/day", meaning="amount sent from {I} i to {J} j")
    m.minimize(opening=(sum_(i)(f[i] * y[i]), "cost of keeping {I_s} open"),
               shipping=(sum_(i, j)(c[i, j] * x[i, j]), "cost of carriage"))
    m.require("meet", sum_(i)(x[i, j]) == d[j], forall=(j,), because="every {J} receives exactly what it needs")
    m.fixed_charge("supply", sum_(j)(x[i, j]) + r[i], y[i], q[i], forall=(i,),
                   because="only open {I_s} dispatch, up to their capacity")
    m.fixed_charge("pair", x[i, j], y[i], d[j], forall=(i, j), because="a closed {I} sends nothing to any {J}")
    return Example(lower(m.build()), {
        "I": ["North", "South"], "J": ["Alder", "Birch", "Cedar"], "f": {"North": 120, "South": 90},
        "q": {"North": 16, "South": 10}, "r": {"North": 1, "South": 0.5}, "d": {"Alder": 5, "Birch": 6, "Cedar": 4},
        "c": {"North": {"Alder": 3, "Birch": 7, "Cedar": 5}, "South": {"Alder": 6, "Birch": 2, "Cedar": 4}},
    })


def lots() -> Example:
    """Lot sizing with set-ups, an initial stock, bounds and a free net position."""
    m = Builder("lots")
    T = m.set("T", "week", numbered=True)
    t = T.index("t")
    p = m.param("p", t, name="unit_cost", unit="money/goods", meaning="cost of making one unit")
    e = m.param("e", name="price", unit="money/goods", meaning="price of a unit sold")
    h = m.param("h", name="holding", unit="money/goods", meaning="cost of storing one unit for a {T}")
    f = m.param("f", t, name="setup_cost", unit="money", meaning="cost of a set-up")
    d = m.param("d", t, name="demand", unit="goods", meaning="amount due in a {T}")
    s0 = m.param("s0", name="first_stock", unit="goods", meaning="stock at the start")
    cap = m.param("k", t, name="capacity", unit="goods", meaning="most that can be made in a {T}")
    room = m.param("u", name="room", unit="goods", meaning="room in the store")
    low = m.param("l", name="least", unit="goods", meaning="smallest lot")
    ramp = m.param("g", name="ramp", unit="goods", meaning="largest change from one {T} to the next")
    x = m.var("x", t, name="make", unit="goods", meaning="amount made in {T} t")
    s = m.var("s", t, name="stock", unit="goods", upper=room, meaning="stock at the end of {T} t")
    y = m.var("y", t, kind="binary", name="setup", meaning="1 if anything is made in {T} t")
    v = m.var("v", t, name="net", unit="goods", lower=None, meaning="amount made beyond the need of {T} t")
    z = m.var("z", t, name="swing", unit="goods", meaning="change of output in {T} t", auxiliary=True)
    m.maximize(sales=(sum_(t)(e * d[t]), "revenue"), making=(-sum_(t)(p[t] * x[t]), "cost of production"),
               storing=(-sum_(t)(h * s[t] + h * z[t]), "cost of storage and change"),
               setting=(-sum_(t)(f[t] * y[t]), "cost of set-ups"))
    m.require("start", s0 + x[t] == d[t] + s[t], forall=(t,), where=t == first,
              because="the first {T} begins with the stock at the start")
    m.require("balance", s[t - 1] + x[t] == d[t] + s[t], forall=(t,), where=t > first,
              because="stock and output cover the demand of the {T}, and the rest is stored")
    m.require("beyond", v[t] == x[t] - d[t], forall=(t,), because="the net amount is output less demand")
    m.require("together", sum_(t)(x[t]) >= sum_(t)(d[t]) - s0, because="the total demand is covered")
    m.fixed_charge("link", x[t], y[t], cap[t], forall=(t,), because="nothing is made without a set-up")
    m.require("lot", x[t] >= low * y[t], forall=(t,), because="a {T} with a set-up makes at least the smallest lot")
    m.absolute("swing", z[t], x[t] - x[t - 1], forall=(t,), where=t > first,
               because="the change is counted whether up or down")
    m.require("steady", z[t] <= ramp, forall=(t,), because="output changes slowly")
    m.require("ending", s[t] >= low, forall=(t,), where=t == last, because="the last {T} leaves a smallest lot in stock")
    return Example(lower(m.build()), {
        "T": [1, 2, 3], "p": {"1": 2, "2": 3, "3": 5}, "e": 9, "h": 0.5, "f": {"1": 10, "2": 20, "3": 15},
        "d": {"1": 4, "2": 6, "3": 8}, "s0": 2, "k": {"1": 12, "2": 12, "3": 14}, "u": 9, "l": 3, "g": 7,
    })


def jobs() -> Example:
    """Assignment of workers to jobs, with pairs that do not go together and pair bonuses linearised."""
    m = Builder("jobs")
    W, J = m.set("W", "worker"), m.set("J", "job")
    w, j, k = W.index("w"), J.index("j"), J.index("k")
    c = m.param("c", w, j, name="hours", unit="hour", meaning="hours that {W} w takes for {J} j")
    b = m.param("b", j, k, name="overlap", unit="hour", meaning="hours saved when {J} j precedes {J} k")
    cap = m.param("n", w, name="most", integer=True, meaning="number of jobs a {W} may take")
    x = m.var("x", w, j, kind="binary", name="assign", meaning="1 if {W} w does {J} j")
    z = m.var("z", j, k, kind="binary", name="pair", meaning="1 if {J} j precedes {J} k")
    m.minimize(work=(sum_(w, j)(c[w, j] * x[w, j]), "hours worked"),
               saved=(-sum_(j, k, where=j < k)(b[j, k] * z[j, k]), "hours saved"))
    m.require("done", sum_(w)(x[w, j]) == 1, forall=(j,), because="every {J} is done by exactly one {W}")
    m.require("load", sum_(j)(x[w, j]) <= cap[w], forall=(w,), because="no {W} takes more {J_s} than allowed")
    m.require("once", z[j, k] + z[k, j] <= 1, forall=(j, k), where=j != k,
              because="of two {J_s} at most one precedes the other")
    m.require("few", sum_(j, k, where=j != k)(z[j, k]) <= 2, because="at most two pairs are combined")
    return Example(lower(m.build()), {
        "W": ["Ann", "Bo"], "J": ["a", "b", "c"], "n": {"Ann": 2, "Bo": 2},
        "c": {"Ann": {"a": 3, "b": 5, "c": 4}, "Bo": {"a": 4, "b": 2, "c": 6}},
        "b": {"a": {"a": 0, "b": 1, "c": 0.5}, "b": {"a": 0.25, "b": 0, "c": 2}, "c": {"a": 1.5, "b": 0.75, "c": 0}},
    })


def knapsack() -> Example:
    m = Builder("knapsack")
    I = m.set("I", "item")
    i = I.index("i")
    v = m.param("v", i, name="value", unit="money/piece", meaning="value of a piece of {I} i")
    w = m.param("w", i, name="weight", unit="weight/piece", integer=True, meaning="weight of a piece of {I} i")
    own = m.param("a", i, name="stock", unit="piece", integer=True, meaning="pieces of {I} i at hand")
    cap = m.param("C", name="limit", unit="weight", integer=True, meaning="weight that can be carried")
    x = m.var("x", i, kind="integer", name="take", unit="piece", upper=own[i], meaning="pieces of {I} i taken")
    m.maximize(value=(sum_(i)(v[i] * x[i]), "value carried"))
    m.require("weight_limit", sum_(i)(w[i] * x[i]) <= cap, because="what is taken weighs no more than can be carried")
    return Example(m.build(), {"I": ["tent", "stove", "rope"], "v": {"tent": 10, "stove": 7, "rope": 3}, "C": 11,
                               "w": {"tent": 6, "stove": 4, "rope": 3}, "a": {"tent": 1, "stove": 2, "rope": 2}})


def tour() -> Example:
    """Travelling salesman with order variables (Miller, Tucker, Zemlin) on all ordered pairs."""
    m = Builder("tour")
    N = m.set("N", "city", plural="cities", ordered=True)
    i, j = N.index("i"), N.index("j")
    P = m.tuples("P", i, j, noun="pair of cities", plural="pairs of cities", name="pairs", where=i != j)
    c = m.param("c", i, j, name="distance", unit="distance", domain=P, meaning="distance from {N} i to {N} j")
    x = m.var("x", i, j, kind="binary", name="go", domain=P, meaning="1 if the tour goes from {N} i to {N} j")
    u = m.var("u", i, name="order", lower=0, upper=card(N), auxiliary=True, meaning="place of {N} i in the tour")
    m.minimize(length=(sum_(i, j, where=P[i, j])(c[i, j] * x[i, j]), "length of the tour"))
    m.require("leave", sum_(j, where=P[i, j])(x[i, j]) == 1, forall=(i,),
              because="the tour leaves every {N} exactly once")
    m.require("enter", sum_(i, where=P[i, j])(x[i, j]) == 1, forall=(j,),
              because="the tour enters every {N} exactly once")
    m.require("subtour", u[i] - u[j] + card(N) * x[i, j] <= card(N) - 1, forall=(i, j),
              where=(i > first, j > first, P[i, j]), because="the tour does not close before it has seen every {N}")
    names = ["A", "B", "C", "D"]
    far = {a: {b: 3 * k + l + 1 for l, b in enumerate(names) if a != b} for k, a in enumerate(names)}
    return Example(m.build(), {"N": names, "c": far})


def shop() -> Example:
    """One machine with due dates: disjunctions, a makespan, speeds, a minimum lot, a conditional rule."""
    m = Builder("shop")
    J = m.set("J", "job", ordered=True)
    j, k = J.index("j"), J.index("k")
    Q = m.tuples("Q", j, k, noun="pair of jobs", plural="pairs of jobs", name="orders", where=j < k)
    n = m.param("n", j, name="pieces", unit="piece", meaning="pieces of {J} j")
    a = m.param("a", j, name="speed", unit="piece/hour", sign="positive", meaning="pieces of {J} j made in an hour")
    r = m.param("r", j, name="rate", unit="money/hour", meaning="cost of an hour of {J} j")
    H = m.param("H", name="horizon", unit="hour", meaning="length of the planning period")
    o = m.param("o", name="overtime_limit", unit="hour", meaning="most overtime")
    q = m.param("q", name="overtime_least", unit="hour", meaning="least overtime once there is any")
    g = m.param("g", name="weight", unit="money/hour", meaning="cost of an hour of delay")
    s = m.var("s", j, name="start", unit="hour", meaning="start of {J} j")
    b = m.var("b", j, name="batch", unit="piece", meaning="pieces of {J} j finished")
    C = m.var("C", name="makespan", unit="hour", auxiliary=True, meaning="time at which the last {J} ends")
    w = m.var("w", j, name="overtime", unit="hour", meaning="overtime spent on {J} j")
    late = m.var("late", j, kind="binary", meaning="1 if {J} j may end late")
    m.minimize(end=(g * C, "cost of time"),
               extra=(sum_(j)(r[j] * w[j]), "cost of overtime"))
    m.require("all", b[j] == n[j], forall=(j,), because="every {J} is finished")
    m.maximum("last", C, s[j] + b[j] / a[j] - w[j], over=(j,), because="the time of completion is that of the last {J}")
    m.either_or("order", s[j] + n[j] / a[j] <= s[k], s[k] + n[k] / a[k] <= s[j], H, symbol="y",
                meaning="1 if {J} j is before {J} k", code_name="before", forall=(j, k), where=Q[j, k], domain=Q,
                because="two {J_s} never run at the same time")
    m.implies("on_time", late[j], s[j] <= H - o, H, forall=(j,), because="a {J} marked so starts before overtime")
    m.require("marked", sum_(j)(late[j]) >= 1, because="one {J} at least is marked")
    m.semicontinuous("overtime_lot", w[j], q, o, symbol="v", code_name="has_overtime", forall=(j,),
                     meaning="1 if {J} j has overtime", because="overtime on a {J} is none or worth the while")
    return Example(lower(m.build()), {
        "J": ["a", "b", "c"], "n": {"a": 12, "b": 10, "c": 9}, "a": {"a": 4, "b": 2, "c": 3},
        "r": {"a": 7, "b": 6, "c": 5}, "H": 30, "o": 4, "q": 2, "g": 3})


def network() -> Example:
    """Minimum-cost flow on sparse arcs; two prices and a rate."""
    m = Builder("network")
    N = m.set("N", "node")
    i, j = N.index("i"), N.index("j")
    A = m.tuples("A", i, j, noun="arc")
    c = m.param("c", i, j, name="cost", unit="money/flow", domain=A, meaning="cost of the arc from {N} i to {N} j")
    k = m.param("k", i, j, name="toll", unit="money/flow", domain=A, meaning="toll on the arc from {N} i to {N} j")
    u = m.param("u", i, j, name="capacity", unit="flow", domain=A, meaning="capacity of the arc from {N} i to {N} j")
    b = m.param("b", i, name="supply", unit="flow", sign="any", meaning="supply of {N} i, negative for a need")
    x = m.var("x", i, j, name="flow", unit="flow", domain=A, upper=u[i, j], meaning="flow from {N} i to {N} j")
    m.minimize(cost=(sum_(i, j, where=A[i, j])((c[i, j] + k[i, j]) * x[i, j]), "cost of the flow"))
    m.require("conserve", sum_(j, where=A[i, j])(x[i, j]) - sum_(j, where=A[j, i])(x[j, i]) == b[i], forall=(i,),
              because="what leaves a {N} is what enters it and its supply")
    arcs = [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("a", "b")]

    def table(*values: float) -> dict[str, dict[str, float]]:
        out: dict[str, dict[str, float]] = {}
        for (tail, head), value in zip(arcs, values, strict=True):
            out.setdefault(tail, {})[head] = value
        return out

    return Example(m.build(), {"N": ["s", "a", "b", "t"], "A": [list(a) for a in arcs],
                               "b": {"s": 7, "a": 0, "b": 0, "t": -7}, "c": table(1, 2, 3, 1, 0.5),
                               "k": table(0.1, 0, 0.2, 0, 0), "u": table(5, 5, 4, 6, 3)})


def rota() -> Example:
    """Staff on a cyclic week; each shift lasts two days; a day with data as condition."""
    m = Builder("rota")
    D = m.set("D", "day", cyclic=True)
    d = D.index("d")
    need = m.param("r", d, name="need", unit="person", integer=True, meaning="people needed on {D} d")
    wage = m.param("c", d, name="wage", unit="money/person", meaning="wage of a person who starts on {D} d")
    x = m.var("x", d, kind="integer", name="begin", unit="person", meaning="people who start on {D} d")
    m.minimize(wages=(sum_(d)(wage[d] * x[d]), "wages"))
    m.require("staffed", x[d] + x[d - 1] >= need[d], forall=(d,), because="every {D} has enough people")
    m.require("calm", x[d] <= need[d], forall=(d,), where=given(need[d] >= 2 * need[d - 1]),
              because="after a calm {D} no more start than are needed")
    return Example(m.build(), {"D": ["Mon", "Tue", "Wed"], "r": {"Mon": 2, "Tue": 5, "Wed": 4},
                               "c": {"Mon": 10, "Tue": 11, "Wed": 12}})


def fund() -> Example:
    """Money put into assets, with a limit on the average loss over some years."""
    m = Builder("fund")
    I, S = m.set("I", "asset"), m.set("S", "year")
    i, k = I.index("i"), S.index("k")
    g = m.param("g", i, name="rate", meaning="yearly gain of an {I} as a fraction")
    e = m.param("e", i, k, name="loss_rate", sign="any", meaning="loss of an {I} in a {S} as a fraction")
    b = m.param("B", name="budget", unit="money", meaning="money at hand")
    r = m.param("R", name="risk_limit", unit="money", meaning="largest average loss")
    x = m.var("x", i, name="put", unit="money", meaning="money put into {I} i")
    d = m.var("d", k, name="lost", unit="money", auxiliary=True, meaning="loss in {S} k")
    m.maximize(gain=(sum_(i)(g[i] * x[i]), "yearly gain"))
    m.require("budget_limit", sum_(i)(x[i]) <= b, because="no more is spent than there is")
    m.require("losses", d[k] >= sum_(i)(e[i, k] * x[i]), forall=(k,), because="a loss is at least what the {I_s} lose")
    m.require("risk", sum_(k)(d[k]) / card(S) <= r, because="the average loss is limited")
    return Example(m.build(), {
        "I": ["bond", "share"], "S": ["good", "bad"], "g": {"bond": 0.02, "share": 0.08}, "B": 100, "R": 3,
        "e": {"bond": {"good": 0, "bad": 0.01}, "share": {"good": -0.2, "bad": 0.15}}})


def blend() -> Example:
    """Oils blended into products: shares of a blend and of all that is made, a net price, a fixed cost that nothing changes."""
    m = Builder("blend")
    I, K = m.set("I", "oil"), m.set("K", "product")
    i, j, k, l = I.index("i"), I.index("j"), K.index("k"), K.index("l")
    p = m.param("p", k, name="price", unit="money/goods", meaning="price of {K} k")
    h = m.param("h", k, name="handling", unit="money/goods", meaning="cost of handling {K} k")
    rent = m.param("R", name="rent", unit="money", meaning="rent that is due in any case")
    f = m.param("f", i, name="idle_cost", unit="money", meaning="cost of leaving {I} i in its tank")
    a = m.param("a", i, name="least_share", meaning="least share of {I} i in every {K}")
    g = m.param("g", k, name="most_share", meaning="largest share of {K} k in all that is made")
    q = m.param("q", i, name="supply", unit="goods", meaning="amount of {I} i at hand")
    b = m.param("b", name="loss", unit="goods", meaning="loss when a tank is opened")
    x = m.var("x", i, k, name="put", unit="goods", meaning="amount of {I} i put into {K} k")
    y = m.var("y", i, kind="binary", name="use", meaning="1 if {I} i is used")
    z = m.var("z", i, kind="binary", name="filter", meaning="1 if {I} i is filtered")
    m.maximize(profit=(sum_(i, k)((p[k] - h[k]) * x[i, k]), "net revenue"), rent=(-rent, "rent"),
               idle=(-sum_(i)(f[i] * (1 - y[i])), "cost of what is left"))
    m.require("least", x[i, k] >= a[i] * sum_(j)(x[j, k]), forall=(i, k), because="every {K} holds the least share of each {I}")
    m.require("market", sum_(i)(x[i, k]) <= g[k] * sum_(i, l)(x[i, l]), forall=(k,), because="no {K} is more than its share of all")
    m.require("supply", sum_(k)(x[i, k]) + b * y[i] <= q[i], forall=(i,), because="no more is used than is at hand, and opening loses some")
    m.fixed_charge("opened", sum_(k)(x[i, k]), y[i], q[i], forall=(i,), because="only what is opened is used")
    m.require("clean", z[i] <= y[i], forall=(i,), because="only {I_s} in use are filtered")
    m.require("some", sum_(i)(z[i]) >= 1, because="one {I} at least is filtered")
    return Example(lower(m.build()), {
        "I": ["light", "heavy"], "K": ["fuel", "tar"], "p": {"fuel": 9, "tar": 6}, "h": {"fuel": 2, "tar": 1}, "R": 20,
        "f": {"light": 3, "heavy": 2}, "a": {"light": 0.2, "heavy": 0.3}, "g": {"fuel": 0.7, "tar": 0.6}, "q": {"light": 30, "heavy": 24}, "b": 2})


EXAMPLES: dict[str, Callable[[], Example]] = {
    e.__name__: e for e in (depots, lots, jobs, knapsack, tour, shop, network, rota, fund, blend)
}
