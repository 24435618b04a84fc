"""Portfolio selection with cardinality, minimum lots and a limit on mean absolute deviation."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.build import Builder, card, sum_
from orpipe.families import Family, Golden, Names, Size, family
from orpipe.families.draw import Rng, by_label, number, table, tidy


@family("portfolio_cardinality", cls="finance", kind="MILP", tags=("semicontinuous", "cardinality", "absolute-value"))
class PortfolioCardinality(Family):
    """Invest a budget in a few assets, each in at least its minimum lot, for the greatest expected gain within a risk limit.

    Source: Konno and Yamazaki, "Mean-absolute deviation portfolio optimization model", Management Science 37, 1991; minimum lots
    and cardinality after Mansini, Ogryczak and Speranza, Linear and Mixed Integer Programming for Portfolio Optimization, 2015.
    """

    title = "portfolio selection with cardinality and minimum lots"
    levels = (
        {"assets": 3, "scenarios": 3, "most": 2, "risk": 1.25},
        {"assets": 5, "scenarios": 4, "most": 3, "risk": 1.15},
        {"assets": 8, "scenarios": 6, "most": 4, "risk": 1.08},
        {"assets": 12, "scenarios": 8, "most": 4, "risk": 1.03},
    )
    golden = Golden(
        data={
            "I": ["Harbour", "Orchard"], "S": ["boom", "slump"], "B": 100, "K": 1, "R": 5,
            "l": {"Harbour": 20, "Orchard": 30}, "h": {"Harbour": 80, "Orchard": 90}, "g": {"Harbour": 0.09, "Orchard": 0.06},
            "e": {"Harbour": {"boom": 0.1, "slump": -0.1}, "Orchard": {"boom": 0.05, "slump": -0.05}},
        },
        optimum="5.4",
        why="Only one asset may be held. x in Harbour deviates by 0.1 x both ways, a mean of 0.1 x <= 5, so x <= 50 and the gain is at most "
            "4.5. Orchard: 0.05 x <= 5 allows 100, but at most 90 may be held: 0.06*90 = 5.4.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        I, S = m.set("I", "asset"), m.set("S", "scenario")
        i, s = I.index("i"), S.index("s")
        g = m.param("g", i, name="expected_return", meaning="expected yearly gain per {unit_money} put into the {I}")
        e = m.param("e", i, s, name="deviation", sign="any", meaning="deviation from the expected gain per {unit_money} of the {I} in the {S}")
        l = m.param("l", i, name="minimum_lot", unit="money", meaning="least amount if the {I} is held at all")
        h = m.param("h", i, name="maximum_lot", unit="money", meaning="most that may be put into the {I}")
        B = m.param("B", name="budget", unit="money", meaning="money available")
        K = m.param("K", name="most_assets", unit="1", integer=True, meaning="largest number of {I_s} that may be held")
        R = m.param("R", name="risk_limit", unit="money", meaning="limit on the mean absolute deviation of the gain")
        x = m.var("x", i, name="invest", unit="money", meaning="amount put into {I} i")
        d = m.var("d", s, name="swing", unit="money", auxiliary=True, meaning="absolute deviation of the gain in {S} s")
        z = m.var("z", i, kind="binary", name="hold", meaning="1 if {I} i is held, 0 otherwise")
        m.maximize(gain=(sum_(i)(g[i] * x[i]), "expected yearly gain"))
        m.require("budget_limit", sum_(i)(x[i]) <= B, tightened_by="B", because="no more than the money available is invested")
        m.fixed_charge("largest", x[i], z[i], h[i], forall=(i,), tightened_by="h",
                       because="nothing goes into an {I} that is not held, and at most its upper limit into one that is")
        m.require("smallest", x[i] >= l[i] * z[i], forall=(i,), tightened_by="l", because="an {I} that is held gets at least its minimum lot")
        m.require("cardinality", sum_(i)(z[i]) <= K, tightened_by="K", because="only the permitted number of {I_s} is held")
        m.absolute("swings", d[s], sum_(i)(e[i, s] * x[i]), forall=(s,), tightened_by="e",
                   because="the swing in each {S} is the absolute deviation of the whole portfolio's gain from its expectation")
        m.require("risk", sum_(s)(d[s]) / card(S) <= R, tightened_by="R",
                  because="the swings, averaged over the equally likely {S_s}, stay within the limit")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        I, S = names("I", size["assets"]), names("S", size["scenarios"])
        B = int(rng.integers(8, 41)) * 50
        g, e, low, high = [], [], [], []
        for _ in I:
            spread = number(rng, 0.02, 0.2, 3)
            g.append(tidy(0.02 + 0.45 * spread + float(rng.uniform(-0.012, 0.012)), 4))
            raw = [tidy(float(rng.uniform(-spread, spread)), 3) for _ in S[:-1]]
            e.append([*raw, tidy(-sum(raw), 3)])
            low.append(tidy(B * float(rng.uniform(0.08, 0.22))))
            high.append(tidy(B * float(rng.uniform(0.35, 0.7))))
        # risk of an even split over the calmest permitted assets, in hand as a feasible point; the limit lies a little above
        calm = sorted(range(len(I)), key=lambda k: sum(abs(v) for v in e[k]))[: size["most"]]
        even = [B / len(calm) if k in calm else 0 for k in range(len(I))]
        mad = sum(abs(sum(e[k][t] * min(even[k], high[k]) for k in range(len(I)))) for t in range(len(S))) / len(S)
        R = tidy(max(mad * size["risk"], B * 0.01), 1)
        return {"I": I, "S": S, "B": B, "K": size["most"], "R": R, "g": by_label(I, g), "l": by_label(I, low), "h": by_label(I, high),
                "e": table(I, S, e)}
