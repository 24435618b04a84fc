"""Staff scheduling over a week that repeats."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.build import Builder, sum_
from orpipe.families import Family, Golden, Names, Size, family
from orpipe.families.draw import Rng, by_label, number, table, tidy

_WEEKEND = (0, 1, 2, 2, 2, 2, 1)  # weekend days worked when a block of five days starts on Monday, Tuesday, ...


@family("staff_scheduling", cls="scheduling", kind="IP", tags=("cyclic", "covering", "workforce"))
class StaffScheduling(Family):
    """Decide how many workers of each team begin their five days on each day of a repeating week, at least wages.

    Source: Dantzig, "A comment on Edie's 'Traffic delays at toll booths'", Operations Research 2(3), 1954, in the
    weekly form of Winston, Operations Research: Applications and Algorithms, 4th ed., 2004, ch. 3.5.
    """

    levels = (
        {"teams": 1, "starters": 2, "spare": 2},
        {"teams": 2, "starters": 3, "spare": 2},
        {"teams": 4, "starters": 3, "spare": 1},
        {"teams": 9, "starters": 4, "spare": 1},
    )
    golden = Golden(
        data={
            "G": ["Surgery"], "D": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
            "r": {"Surgery": {"Monday": 4, "Tuesday": 4, "Wednesday": 4, "Thursday": 4, "Friday": 4, "Saturday": 2,
                              "Sunday": 2}},
            "c": {"Surgery": {"Monday": 500, "Tuesday": 560, "Wednesday": 620, "Thursday": 620, "Friday": 620,
                              "Saturday": 620, "Sunday": 560}},
            "n": {"Surgery": 4},
            "m": {"Monday": 2, "Tuesday": 2, "Wednesday": 2, "Thursday": 2, "Friday": 2, "Saturday": 2, "Sunday": 2},
        },
        optimum=2740,
        why="24 shifts are due at five a worker, so at least 5 workers. A worker costs 500 and 60 for each weekend "
            "day, of which 4 are due: at least 5*500 + 4*60 = 2740. Two starting on Monday and one each on Tuesday, "
            "Thursday and Sunday reach it: 4, 4, 4, 5, 4, 2 and 2 at work.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        G, D = m.set("G", "team"), m.set("D", "day", cyclic=True)
        g, d = G.index("g"), D.index("d")
        r = m.param("r", g, d, name="needed", unit="worker", integer=True,
                    meaning="{workers} needed by each {G} on each {D}")
        c = m.param("c", g, d, name="wage", unit="money/worker", meaning="weekly wage of one {worker} of the {G} who begins on the {D}")
        n = m.param("n", g, name="permanent", unit="worker", integer=True, meaning="permanent {workers} of the {G}")
        limit = m.param("m", d, name="start_limit", unit="worker", integer=True,
                        meaning="most {workers} who can begin on the {D}")
        x = m.var("x", g, d, kind="integer", name="begin", unit="worker",
                  meaning="number of {workers} of {G} g who begin their five days on {D} d")
        m.minimize(wages=(sum_(g, d)(c[g, d] * x[g, d]), "weekly wages"))
        m.require("cover", x[g, d] + x[g, d - 1] + x[g, d - 2] + x[g, d - 3] + x[g, d - 4] >= r[g, d], forall=(g, d),
                  tightened_by="r",
                  because="those at work on a {D}, who began on it or on one of the four {D_s} before, are at least as many as are needed")
        m.require("team", sum_(d)(x[g, d]) >= n[g], forall=(g,), tightened_by="n",
                  because="every {G} rosters at least its permanent {workers}")
        m.require("starters", sum_(g)(x[g, d]) <= limit[d], forall=(d,), tightened_by="m",
                  because="all {G_s} together have no more {workers} beginning on a {D} than the limit of that {D}")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        G, D = names("G", size["teams"]), names("D", 7)
        # a roster that is feasible by construction; needs are what it covers, less a little
        begin = [[int(rng.integers(0, size["starters"] + 1)) for _ in D] for _ in G]
        begin = [[max(k, 1) if t % 3 == 0 else k for t, k in enumerate(line)] for line in begin]
        at_work = [[sum(line[t - back] for back in range(5)) for t in range(7)] for line in begin]
        r = [[max(1, have - int(rng.integers(0, size["spare"] + 1))) for have in line] for line in at_work]
        n = [max(1, sum(line) - int(rng.integers(0, 3))) for line in begin]
        m = [max(1, sum(line[t] for line in begin) + int(rng.integers(0, 1 + len(G)))) for t in range(7)]
        c = []
        for _ in G:
            wage, extra = number(rng, 520, 760), number(rng, 24, 60)
            c.append([tidy(wage + extra * days + number(rng, -15, 15)) for days in _WEEKEND])
        return {"G": G, "D": D, "r": table(G, D, r), "c": table(G, D, c), "n": by_label(G, n), "m": by_label(D, m)}
