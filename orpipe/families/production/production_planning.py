"""Multi-period production planning with inventory and overtime."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import Any

from orpipe.algebra.build import Builder, first, last, sum_
from orpipe.families import Family, Golden, Names, Size, family
from orpipe.families.draw import Rng, by_label, number, numbers, table, tidy


@family("production_planning", cls="production", kind="LP", tags=("multi-period", "inventory", "overtime"))
class ProductionPlanning(Family):
    """Make, stock and deliver several products over numbered periods at least cost, with regular hours and overtime.

    Source: Hax and Candea, Production and Inventory Management, Prentice-Hall, 1984, ch. 3 (linear cost models of
    aggregate production planning).
    """

    levels = (
        {"products": 2, "periods": 3, "slack": 1.1},
        {"products": 3, "periods": 4, "slack": 1.05},
        {"products": 4, "periods": 6, "slack": 1.0},
        {"products": 5, "periods": 8, "slack": 0.95},
    )
    golden = Golden(
        data={
            "P": ["Ivory", "Slate"], "T": [1, 2, 3],
            "d": {"Ivory": {"1": 100, "2": 150, "3": 200}, "Slate": {"1": 40, "2": 40, "3": 40}},
            "c": {"Ivory": {"1": 10, "2": 10, "3": 10}, "Slate": {"1": 8, "2": 8, "3": 8}},
            "a": {"Ivory": 0.5, "Slate": 0.25}, "h": {"Ivory": 2, "Slate": 3},
            "b": {"Ivory": 20, "Slate": 0}, "e": {"Ivory": 10, "Slate": 0},
            "k": {"1": 90, "2": 90, "3": 90}, "m": {"1": 25, "2": 25, "3": 25}, "g": 6,
        },
        optimum=5520,
        why="440 of Ivory and 120 of Slate must be made: 4400 + 960; the final 10 of Ivory cost 20 to hold. Made as "
            "late as possible, the work takes 50, 85 and 115 h, so period 3 is 25 h over. An hour moved one period "
            "earlier costs 2*2 = 4 with Ivory (4*3 = 12 with Slate), two periods 8, overtime 6: the 5 h free in "
            "period 2 take 5*4 = 20, overtime the other 20*6 = 120.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        P, T = m.set("P", "product"), m.set("T", "period", numbered=True)
        p, t = P.index("p"), T.index("t")
        d = m.param("d", p, t, name="demand", unit="goods", meaning="demand for each {P} in each {T}")
        c = m.param("c", p, t, name="production_cost", unit="money/goods",
                    meaning="cost of making each {P} in each {T}")
        a = m.param("a", p, name="working_time", unit="hour/goods", sign="positive",
                    meaning="working time to make the {P}")
        h = m.param("h", p, name="holding_cost", unit="money/goods",
                    meaning="cost of holding the {P} in stock at the end of a {T}")
        b = m.param("b", p, name="initial_stock", unit="goods", meaning="stock of the {P} before the first {T}")
        e = m.param("e", p, name="final_stock", unit="goods", meaning="least stock of the {P} after the last {T}")
        k = m.param("k", t, name="regular_hours", unit="hour", meaning="regular working time in the {T}")
        limit = m.param("m", t, name="overtime_limit", unit="hour", meaning="most overtime in the {T}")
        g = m.param("g", name="overtime_cost", unit="money/hour", meaning="cost of overtime")
        x = m.var("x", p, t, name="produce", unit="goods", meaning="amount of {P} p made in {T} t")
        s = m.var("s", p, t, name="stock", unit="goods", meaning="stock of {P} p at the end of {T} t")
        o = m.var("o", t, name="overtime", unit="hour", upper=limit[t], meaning="overtime worked in {T} t")
        m.minimize(
            production=(sum_(p, t)(c[p, t] * x[p, t]), "cost of making the {P_s}"),
            holding=(sum_(p, t)(h[p] * s[p, t]), "cost of holding stock"),
            overtime=(sum_(t)(g * o[t]), "cost of overtime"),
        )
        m.require("first_balance", b[p] + x[p, t] == d[p, t] + s[p, t], forall=(p, t),
                  where=t == first, tightened_by="d",
                  because="initial stock and production of the first {T} cover its demand, and what is left is stock at its end")
        m.require("balance", s[p, t - 1] + x[p, t] == d[p, t] + s[p, t], forall=(p, t),
                  where=t > first, tightened_by="d",
                  because="stock of the {T} before and production cover the demand of the {T}, and what is left stays in stock")
        m.require("capacity", sum_(p)(a[p] * x[p, t]) <= k[t] + o[t], forall=(t,), tightened_by="k",
                  because="the work done in a {T} fits into its regular hours and the overtime worked")
        m.require("final_stock", s[p, t] >= e[p], forall=(p, t), where=t == last, tightened_by="e",
                  because="at the end of the last {T} the stock of each {P} is at least the final stock asked for")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        P, T = names("P", size["products"]), list(range(1, size["periods"] + 1))
        d = [[round(base * number(rng, 0.6, 1.45, 2)) for _ in T] for base in numbers(rng, 160, 340, len(P))]
        c = [[tidy(base * number(rng, 0.9, 1.15, 3), 2) for _ in T] for base in numbers(rng, 45, 160, len(P), 1)]
        a = numbers(rng, 0.042, 0.145, len(P), 3)
        h = [tidy(line[0] * number(rng, 0.015, 0.04, 3), 2) for line in c]
        b, e = numbers(rng, 20, 120, len(P)), numbers(rng, 20, 90, len(P))
        # hours due up to each period: what the initial stock does not cover must be made by then
        need = [[sum(line[:t]) - stock for t in T] for line, stock in zip(d, b, strict=True)]
        for line, final in zip(need, e, strict=True):
            line[-1] += final
        due = [sum(time * max(0, line[t - 1]) for time, line in zip(a, need, strict=True)) for t in T]
        mean = due[-1] / len(T) * size["slack"]
        k = [tidy(mean * number(rng, 0.88, 1.12, 3), 1) for _ in T]
        m = [tidy(hours * number(rng, 0.12, 0.25, 3), 1) for hours in k]
        for t, hours in enumerate(due):
            missing = math.ceil(hours - sum(k[:t + 1]) - sum(m[:t + 1]))
            if missing > 0:  # no plan could keep up: longer overtime in the periods so far
                m[:t + 1] = [tidy(m[r] + share, 1) for r, share in enumerate(_shares(missing, t + 1))]
        return {"P": P, "T": T, "d": table(P, T, d), "c": table(P, T, c), "a": by_label(P, a), "h": by_label(P, h),
                "b": by_label(P, b), "e": by_label(P, e), "k": by_label(T, k), "m": by_label(T, m),
                "g": number(rng, 96, 198, 1)}


def _shares(total: int, parts: int) -> list[int]:
    """`total` in `parts` whole numbers as equal as can be."""
    ends = [0, *accumulate(total // parts + (n < total % parts) for n in range(parts))]
    return [b - a for a, b in pairwise(ends)]
