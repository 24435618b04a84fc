"""The assignment problem with eligible pairs."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.build import Builder, sum_
from orpipe.families import Family, Golden, Names, Rejected, Size, family
from orpipe.families.draw import Rng, number

Pair = tuple[int, int]


@family("assignment", cls="network", kind="BIP", tags=("matching", "sparse"))
class Assignment(Family):
    """Give each task to one of the agents able to do it, at most one task an agent, in the least total time.

    Source: Kuhn, "The Hungarian method for the assignment problem", Naval Research Logistics Quarterly 2, 1955; with
    unequal numbers and excluded pairs as in Burkard, Dell'Amico and Martello, Assignment Problems, 2009, ch. 4-5.
    """

    # density: chance that an agent can do a task
    levels = (
        {"agents": 3, "tasks": 3, "density": 0.8},
        {"agents": 5, "tasks": 4, "density": 0.75},
        {"agents": 9, "tasks": 8, "density": 0.6},
        {"agents": 14, "tasks": 13, "density": 0.5},
    )
    golden = Golden(
        data={
            "I": ["Ana", "Bruno", "Chloe", "Dario"], "J": ["gearbox", "compressor", "chiller"],
            "E": [["Ana", "gearbox"], ["Ana", "compressor"],
                  ["Bruno", "gearbox"], ["Bruno", "compressor"], ["Bruno", "chiller"],
                  ["Chloe", "compressor"], ["Chloe", "chiller"], ["Dario", "compressor"]],
            "c": {"Ana": {"gearbox": 100, "compressor": 120},
                  "Bruno": {"gearbox": 110, "compressor": 150, "chiller": 130},
                  "Chloe": {"compressor": 140, "chiller": 160}, "Dario": {"compressor": 135}},
        },
        optimum=365,
        why="Ana is fastest at gearbox and compressor and can do one. Ana on the compressor leaves the gearbox to "
            "Bruno and the chiller to Chloe: 120 + 110 + 160 = 390. Ana idle: 110 + 160 + 135 = 405. Ana on the "
            "gearbox (100): compressor and chiller by Dario and Bruno take 135 + 130 = 265, by Chloe and Bruno "
            "270, by Dario and Chloe 295, by Bruno and Chloe 310; so 100 + 265 = 365.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        I, J = m.set("I", "agent"), m.set("J", "task")
        i, j = I.index("i"), J.index("j")
        E = m.tuples("E", i, j, noun="possible pairing")
        c = m.param("c", i, j, name="time_needed", unit="minute", domain=E,
                    meaning="time that the {I} needs for the {J}")
        x = m.var("x", i, j, name="assign", kind="binary", domain=E, meaning="1 if {I} i is given {J} j, 0 otherwise")
        m.minimize(time=(sum_(i, j, where=E[i, j])(c[i, j] * x[i, j]), "total time spent on the {J_s}"))
        m.require("one_each", sum_(i, where=E[i, j])(x[i, j]) == 1, forall=(j,), tightened_by="E",
                  because="each {J} is given to exactly one {I} able to take it")
        m.require("at_most_one", sum_(j, where=E[i, j])(x[i, j]) <= 1, forall=(i,), tightened_by="E",
                  because="no {I} takes more than one {J}")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        agents, tasks = size["agents"], size["tasks"]
        I, J = names("I", agents), names("J", tasks)
        for _ in range(80):
            pairs = _eligible(rng, agents, tasks, size["density"])
            pace = [number(rng, 0.75, 1.35, 2) for _ in I]
            work = [number(rng, 110, 350) for _ in J]
            time = {(i, j): round(work[j] * pace[i] * number(rng, 0.8, 1.25, 2)) for i, j in pairs}
            fastest = [min((time[p], p[0]) for p in pairs if p[1] == j)[1] for j in range(tasks)]
            if len(set(fastest)) < tasks and len(pairs) < agents * tasks:  # some agent is the fastest at two tasks
                break
        else:
            raise Rejected("every draw could give each task to its fastest agent")
        c: dict[str, dict[str, Any]] = {}
        for i, j in pairs:
            c.setdefault(I[i], {})[J[j]] = time[i, j]
        return {"I": I, "J": J, "E": [[I[i], J[j]] for i, j in pairs], "c": c}


def _eligible(rng: Rng, agents: int, tasks: int, density: float) -> list[Pair]:
    """A hidden complete assignment and further pairs: each agent can do at least one task, each task has two agents."""
    chosen = {(int(i), j) for j, i in enumerate(rng.permutation(agents)[:tasks])}
    chosen |= {(i, j) for i in range(agents) for j in range(tasks) if rng.random() < density}
    for i in range(agents):
        if not any(p[0] == i for p in chosen):
            chosen.add((i, int(rng.integers(tasks))))
    for j in range(tasks):
        while sum(p[1] == j for p in chosen) < 2:
            chosen.add((int(rng.integers(agents)), j))
    return sorted(chosen)
