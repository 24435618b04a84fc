"""Models as textbooks state them: the contract must let them pass."""

from __future__ import annotations

from orpipe.algebra import nodes as n
from orpipe.algebra.build import Builder, card, first, given, sum_


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
