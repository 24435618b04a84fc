"""Family title."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.build import Builder, sum_
from orpipe.families import Family, Golden, Names, Size, family
from orpipe.families.draw import Rng, by_label, drawn_table, numbers, tidy


# kind is the most general kind an instance has: LP, MILP, IP (all whole numbers) or BIP (all yes/no).
@family("family_name", cls="problem_class", kind="LP", tags=("starter",))
class FamilyName(Family):
    """Choose how much of each activity to run so that shared resources bring the greatest profit.

    Source: Dantzig, Linear Programming and Extensions, Princeton University Press, 1963, ch. 3.
    """

    # The first sentence above is the family's summary; after «Source:» stands the book or paper the model is from.

    # Level 1 is small enough to check by hand.  The keys are yours: `sample` reads them.  Sizes must grow with the
    # level; here tightness changes too (share: what is available over what full demand would use).
    levels = (
        {"activities": 3, "resources": 2, "share": 0.7},
        {"activities": 6, "resources": 3, "share": 0.6},
        {"activities": 14, "resources": 5, "share": 0.5},
    )

    # Solved by hand, not by a solver: it is the only check that does not go through the algebra below.
    golden = Golden(
        data={
            "A": ["chairs", "tables"], "K": ["sawing", "painting"],
            "p": {"chairs": 30, "tables": 50}, "d": {"chairs": 6, "tables": 5}, "b": {"sawing": 12, "painting": 9},
            "r": {"chairs": {"sawing": 1, "painting": 2}, "tables": {"sawing": 3, "painting": 1}},
        },
        optimum=240,
        why="14 times the limit on sawing plus 8 times that on painting says that any plan is worth at most "
            "14*12 + 8*9 = 240; 3 of each use 3 + 9 = 12 and 6 + 3 = 9 and are worth 90 + 150 = 240.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        # {A} is the scenario's noun of set A, {A_s} its plural.  Units are the abstract ones of orpipe/algebra/units.py;
        # a scenario prints its own.  Meanings are noun phrases without the unit: they head tables and file schemas.
        A, K = m.set("A", "activity", plural="activities"), m.set("K", "resource")
        a, k = A.index("a"), K.index("k")
        p = m.param("p", a, name="profit", unit="money/goods", meaning="profit of the {A}")
        d = m.param("d", a, name="demand", unit="goods", meaning="most of the {A} that the market takes")
        b = m.param("b", k, name="available", unit="resource", meaning="limit of the {K}")
        r = m.param("r", a, k, name="use", unit="resource/goods", meaning="use of {K} by {A}")
        # A decision that is whole or yes/no says kind="integer" or kind="binary"; upper= may be an expression of data.
        x = m.var("x", a, name="run", unit="goods", upper=d[a], meaning="amount of {A} a")
        # Each component of the objective is a term of its own, with its meaning.
        m.maximize(profit=(sum_(a)(p[a] * x[a]), "total profit"))
        # because: the row in words, a clause.  tightened_by: the data entry that makes the row harder to satisfy.
        # Fixed charges, either-or, maxima and the like have their own calls (orpipe/algebra/build.py).
        m.require("capacity", sum_(a)(r[a, k] * x[a]) <= b[k], forall=(k,), tightened_by="b",
                  because="all {A_s} together stay within the limit of each {K}")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        # Every number comes from `rng`, as a decimal that prints exactly.  Draw data for which a solution exists; where
        # that cannot be had, raise Rejected("reason"): it is counted.  Nothing at all is a solution here.
        A, K = names("A", size["activities"]), names("K", size["resources"])
        d = numbers(rng, 10, 40, len(A))
        r = drawn_table(rng, A, K, 0.5, 6, 1)
        # Limits follow from what full demand would use, so that some bind and some do not.
        b = [tidy(size["share"] * sum(r[i][k] * need for i, need in zip(A, d, strict=True))) for k in K]
        return {"A": A, "K": K, "p": by_label(A, numbers(rng, 20, 95, len(A))), "d": by_label(A, d), "b": by_label(K, b), "r": r}
