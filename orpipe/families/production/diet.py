"""The diet problem."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import yaml

from orpipe.algebra.build import Builder, sum_
from orpipe.errors import ModelError
from orpipe.exact import fraction
from orpipe.families import Family, Golden, Names, Rejected, Size, family
from orpipe.families.draw import Rng, by_label, number, tidy
from orpipe.resources import reference


@family("diet", cls="blending", kind="LP", tags=("blending", "subsets"))
class Diet(Family):
    """Choose daily amounts of foods that give enough energy and keep every nutrient within its limits at least cost.

    Source: Stigler, "The cost of subsistence", Journal of Farm Economics 27, 1945; as a linear programme in Dantzig,
    Linear Programming and Extensions, 1963, ch. 27.
    """

    # room: how far the limits lie from a hidden feasible diet, in percent
    levels = (
        {"foods": 4, "nutrients": 3, "room": 12},
        {"foods": 8, "nutrients": 4, "room": 10},
        {"foods": 16, "nutrients": 6, "room": 8},
        {"foods": 32, "nutrients": 7, "room": 6},
    )
    golden = Golden(
        data={
            "F": ["white bread", "lentils", "white rice", "eggs"], "N": ["protein", "salt"],
            "L": [["protein"]], "U": [["salt"]],
            "c": {"white bread": 33, "lentils": 85, "white rice": 50, "eggs": 40},
            "q": {"white bread": 5, "lentils": 2, "white rice": 6, "eggs": 3},
            "e": {"white bread": 250, "lentils": 350, "white rice": 360, "eggs": 155}, "E": 2540,
            "a": {"white bread": {"protein": 10, "salt": 1.2}, "lentils": {"protein": 25, "salt": 0},
                  "white rice": {"protein": 7, "salt": 0}, "eggs": {"protein": 12, "salt": 0.4}},
            "l": {"protein": 83}, "u": {"salt": 3.6},
        },
        optimum=384,
        why="Value a kcal at 0.1, a g of protein at 2 and a g of salt at -10: bread is worth 25 + 20 - 12 = 33, "
            "lentils 35 + 50 = 85 and rice 36 + 14 = 50, each just its price; eggs are worth 15.5 + 24 - 4 = "
            "35.5, less than their price. So any diet within the limits costs at least 0.1*2540 + 2*83 - 10*3.6 = "
            "384. Three of bread, one of lentils and four of rice give exactly 2540 kcal, 83 g and 3.6 g, for 99 "
            "+ 85 + 200 = 384.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        F, N = m.set("F", "food"), m.set("N", "nutrient")
        f, n = F.index("f"), N.index("n")
        L = m.tuples("L", n, noun="nutrient with a minimum", plural="nutrients with a minimum")
        U = m.tuples("U", n, noun="nutrient with a maximum", plural="nutrients with a maximum")
        c = m.param("c", f, name="price", unit="money/serving", meaning="price of the {F}")
        q = m.param("q", f, name="most_a_day", unit="serving/day", meaning="most of the {F} that may be used")
        e = m.param("e", f, name="energy_content", unit="energy/serving", meaning="energy in the {F}")
        a = m.param("a", f, n, name="content", unit="nutrient/serving", meaning="content of each {N} in each {F}")
        E = m.param("E", name="energy_needed", unit="energy/day", meaning="least energy needed")
        l = m.param("l", n, name="least", unit="nutrient/day", domain=L, meaning="least amount of the {N}")
        u = m.param("u", n, name="most", unit="nutrient/day", domain=U, meaning="largest amount of the {N}")
        x = m.var("x", f, name="amount", unit="serving/day", upper=q[f], meaning="amount of {F} f used")
        m.minimize(purchase=(sum_(f)(c[f] * x[f]), "cost of the {F_s}"))
        m.require("energy", sum_(f)(e[f] * x[f]) >= E, tightened_by="E",
                  because="the {F_s} together give at least the energy needed")
        m.require("minimum", sum_(f)(a[f, n] * x[f]) >= l[n], forall=(n,), where=L[n], tightened_by="l",
                  because="each {N} with a minimum reaches it")
        m.require("maximum", sum_(f)(a[f, n] * x[f]) <= u[n], forall=(n,), where=U[n], tightened_by="u",
                  because="no {N} with a maximum exceeds it")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        """Limits are drawn around a hidden diet, so that it stays feasible."""
        pool, kinds = names("F", max(16, size["foods"])), names("N", 7)
        table = _table(pool, kinds)
        need = number(rng, *table["energy"])
        for _ in range(60):
            F = [pool[int(k)] for k in rng.permutation(len(pool))[:size["foods"]]]
            N = [kinds[int(k)] for k in sorted(rng.permutation(len(kinds))[:size["nutrients"]])]
            food = {f: _varied(rng, dict(zip(table["columns"], table["foods"][f], strict=True))) for f in F}
            share = {f: number(rng, 0.2, 0.9, 2) for f in F}
            scale = need / sum(food[f]["most"] * food[f]["energy"] * share[f] for f in F)
            told = all(sum(food[f][n] > 0.1 for f in F) >= 2 for n in N)  # no limit on what hardly any food contains
            if told and scale <= 2.5 and {"min", "max"} <= {kind for n in N for kind in table["nutrients"][n]}:
                break
        else:
            raise Rejected("the foods drawn cannot give enough energy")
        q = {f: _figures(food[f]["most"] * scale, up=True, count=2) for f in F}
        taken = {f: fraction(q[f]) * fraction(share[f]) for f in F}

        def eaten(column: str) -> Fraction:
            return sum((fraction(food[f][column]) * taken[f] for f in F), start=Fraction(0))

        def limit(n: str, up: bool) -> int | float:
            away = Fraction(str(number(rng, 0.2, 1, 2))) * size["room"] / 100
            return _figures(eaten(n) * (1 + away if up else 1 - away), up=up)

        L, U = ([n for n in N if kind in table["nutrients"][n]] for kind in ("min", "max"))
        return {
            "F": F, "N": N, "L": [[n] for n in L], "U": [[n] for n in U],
            "c": {f: food[f]["price"] for f in F}, "q": q, "e": {f: food[f]["energy"] for f in F},
            "a": {f: {n: food[f][n] for n in N} for f in F}, "E": _figures(eaten("energy"), up=False),
            "l": by_label(L, [limit(n, up=False) for n in L]), "u": by_label(U, [limit(n, up=True) for n in U]),
        }


@cache
def _tables() -> Mapping[str, Any]:
    return yaml.safe_load((reference() / "foods.yaml").read_text(encoding="utf-8"))


def _table(foods: list[str], nutrients: list[str]) -> Mapping[str, Any]:
    """The composition table that holds these foods and nutrients."""
    for table in _tables().values():
        if set(foods) <= set(table["foods"]) and set(nutrients) <= set(table["nutrients"]):
            return table
    raise ModelError(f"no table of data/reference/foods.yaml holds all of {', '.join([*foods, *nutrients])}; "
                     "add the missing rows there or remove the labels from the scenario")


def _varied(rng: Rng, row: Mapping[str, float]) -> dict[str, int | float]:
    """A row of the table, each number moved a little and kept to three figures."""
    return {column: _figures(value * number(rng, 0.85, 1.15, 2)) for column, value in row.items()}


def _figures(value: float | Fraction, up: bool | None = None, count: int = 3) -> int | float:
    """`value` with `count` significant figures and at most three decimals: to the nearest, or always up or down."""
    exact, digits = Fraction(value), 3
    while digits > 0 and exact * 10 ** (digits - 1) >= 10 ** (count - 1):
        digits -= 1
    step = Fraction(1, 10**digits)
    if up is None or exact % step == 0:
        return tidy(exact, digits)
    return tidy(exact // step * step + (step if up else 0), digits)
