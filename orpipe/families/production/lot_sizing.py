"""Capacitated lot sizing with set-ups."""

from __future__ import annotations

import math
from typing import Any

from orpipe.algebra.build import Builder, first, sum_
from orpipe.families import Family, Golden, Names, Size, family
from orpipe.families.draw import Rng, by_label, number, numbers, table


@family("lot_sizing_capacitated", cls="production", kind="MILP", tags=("multi-period", "inventory", "fixed-charge"))
class CapacitatedLotSizing(Family):
    """Choose when to set up and how large to make the lots, so that set-ups and stock cost as little as possible.

    Source: Trigeiro, Thomas and McClain, "Capacitated lot sizing with setup times", Management Science 35(3), 1989; lot
    limits as in Pochet and Wolsey, Production Planning by Mixed Integer Programming, Springer, 2006, ch. 12.
    """

    title = "capacitated lot sizing"
    levels = (
        {"products": 2, "periods": 3, "slack": 1.06},
        {"products": 3, "periods": 4, "slack": 1.05},
        {"products": 3, "periods": 5, "slack": 1.03},
        {"products": 4, "periods": 6, "slack": 1.01},
    )
    golden = Golden(
        data={
            "P": ["Crimson", "Indigo"], "T": [1, 2, 3],
            "d": {"Crimson": {"1": 50, "2": 70, "3": 50}, "Indigo": {"1": 25, "2": 30, "3": 25}},
            "f": {"Crimson": 100, "Indigo": 70}, "u": {"Crimson": 2, "Indigo": 1}, "a": {"Crimson": 0.1, "Indigo": 0.2},
            "h": {"Crimson": 1, "Indigo": 2}, "b": {"Crimson": 10, "Indigo": 5}, "m": {"Crimson": 120, "Indigo": 100},
            "k": {"1": 22, "2": 22, "3": 22},
        },
        optimum=450,
        why="Crimson alone is cheapest set up in 1 and 2 (lots 40 and 120): 200 + 50 = 250, otherwise at least 270 "
            "(1 and 3); in 1 alone the 160 exceed the lot limit. Indigo alone costs 190 set up in 1 and 2, else at "
            "least 200 (1 and 3: lots 50 and 25). Both in 1 and 2 take 14 + 12 h in period 2, 4 h too many, and an "
            "hour's work made earlier costs 10 with either: 250 + 190 + 40. So 250 + 200, which fits: 17, 14 and 6 "
            "h.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        P, T = m.set("P", "product"), m.set("T", "period", numbered=True)
        p, t = P.index("p"), T.index("t")
        d = m.param("d", p, t, name="demand", unit="goods", meaning="demand for each {P} in each {T}")
        f = m.param("f", p, name="setup_cost", unit="money", meaning="cost of a {setup} for the {P}")
        u = m.param("u", p, name="setup_time", unit="hour", meaning="duration of a {setup} for the {P}")
        a = m.param("a", p, name="working_time", unit="hour/goods", sign="positive",
                    meaning="{machine} time to make the {P}")
        h = m.param("h", p, name="holding_cost", unit="money/goods",
                    meaning="cost of holding the {P} in stock at the end of a {T}")
        b = m.param("b", p, name="initial_stock", unit="goods", meaning="stock of the {P} before the first {T}")
        limit = m.param("m", p, name="lot_limit", unit="goods", meaning="most of the {P} that can be made in one {T}")
        k = m.param("k", t, name="hours", unit="hour", meaning="{machine} time available in the {T}")
        x = m.var("x", p, t, name="produce", unit="goods", meaning="amount of {P} p made in {T} t")
        s = m.var("s", p, t, name="stock", unit="goods", meaning="stock of {P} p at the end of {T} t")
        y = m.var("y", p, t, kind="binary", name="setup",
                  meaning="1 if there is a {setup} for {P} p in {T} t, 0 otherwise")
        m.minimize(
            setups=(sum_(p, t)(f[p] * y[p, t]), "cost of the {setups}"),
            holding=(sum_(p, t)(h[p] * s[p, t]), "cost of holding stock"),
        )
        m.require("first_balance", b[p] + x[p, t] == d[p, t] + s[p, t], forall=(p, t),
                  where=t == first, tightened_by="d",
                  because="initial stock and production of the first {T} cover its demand, and what is left is stock at its end")
        m.require("balance", s[p, t - 1] + x[p, t] == d[p, t] + s[p, t], forall=(p, t),
                  where=t > first, tightened_by="d",
                  because="stock of the {T} before and production cover the demand of the {T}, and what is left stays in stock")
        m.require("capacity", sum_(p)(u[p] * y[p, t] + a[p] * x[p, t]) <= k[t], forall=(t,), tightened_by="k",
                  because="the {setups} of a {T} and the making of the {P_s} fit into the {machine} time of that {T}")
        m.fixed_charge("lot", x[p, t], y[p, t], limit[p], forall=(p, t), tightened_by="m",
                       because="a {P} is made only in a {T} with a {setup} for it, and then at most up to its limit")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        P, T = names("P", size["products"]), list(range(1, size["periods"] + 1))
        d = [[round(base * number(rng, 0.55, 1.5, 2)) for _ in T] for base in numbers(rng, 55, 150, len(P))]
        a, u = numbers(rng, 0.06, 0.2, len(P), 3), numbers(rng, 1.2, 4.5, len(P), 1)
        h = numbers(rng, 0.6, 2.4, len(P), 2)
        f = [round(sum(line) / len(T) * cost * number(rng, 1, 3, 2)) for line, cost in zip(d, h, strict=True)]
        b = [round(line[0] * number(rng, 0, 1.3, 2)) for line in d]
        # a plan that is feasible by construction: each lot covers what is due over one or two periods
        lots = [_plan(rng, line, stock) for line, stock in zip(d, b, strict=True)]
        m = [math.ceil(max(line) * number(rng, 1, 1.12, 2)) for line in lots]
        hours = [sum(a[q] * line[t] + u[q] for q, line in enumerate(lots) if line[t]) for t in range(len(T))]
        mean = sum(hours) / len(T)
        k = [math.ceil(max(used, mean * number(rng, 0.65, 0.95, 2)) * size["slack"]) for used in hours]
        return {"P": P, "T": T, "d": table(P, T, d), "f": by_label(P, f), "u": by_label(P, u), "a": by_label(P, a),
                "h": by_label(P, h), "b": by_label(P, b), "m": by_label(P, m), "k": by_label(T, k)}


def _plan(rng: Rng, demand: list[int], stock: int) -> list[int]:
    """Lot sizes by period that, with the initial stock, meet all demand; not all are zero."""
    lots = [0] * len(demand)
    source = 0
    left = 0
    for t, due in enumerate(demand):
        short, stock = max(0, due - stock), max(0, stock - due)
        if not short:
            continue
        if not left:
            source, left = t, int(rng.integers(1, 3))
        lots[source] += short
        left -= 1
    return lots
