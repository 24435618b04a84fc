"""Job shop scheduling with disjunctions."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.build import Builder, given
from orpipe.families import Family, Golden, Names, Size, family
from orpipe.families.draw import Rng, by_label, number, table


@family("job_shop", cls="scheduling", kind="MILP", tags=("disjunction", "makespan", "big-M"))
class JobShop(Family):
    """Sequence jobs on machines, each job on its own route, so that the last one is finished as early as possible.

    Source: Manne, "On the job-shop scheduling problem", Operations Research 8, 1960; Pinedo, Scheduling: Theory, Algorithms,
    and Systems, 5th ed., 2016, ch. 7.
    """

    title = "job shop scheduling"
    levels = (
        {"jobs": 2, "machines": 2, "slack": 1.6},
        {"jobs": 3, "machines": 2, "slack": 1.4},
        {"jobs": 3, "machines": 3, "slack": 1.3},
        {"jobs": 4, "machines": 3, "slack": 1.2},
    )
    ties = "start times of operations that are not on the critical path can move"
    golden = Golden(
        data={
            "J": ["Axle", "Bolt"], "M": ["Lathe", "Mill"], "H": 30,
            "p": {"Axle": {"Lathe": 6, "Mill": 4}, "Bolt": {"Lathe": 5, "Mill": 7}},
            "r": {"Axle": {"Lathe": 1, "Mill": 2}, "Bolt": {"Lathe": 1, "Mill": 2}},
        },
        optimum=16,
        why="Both jobs go to the lathe first. Bolt first: lathe 0-5, mill 5-12; Axle: lathe 5-11, mill 12-16, since the mill is busy "
            "until 12. Axle first: lathe 0-6, mill 6-10; Bolt: lathe 6-11, mill 11-18. Letting a job overtake on the mill only delays: "
            "Bolt first on the lathe and Axle first on the mill ends at 15 + 7 = 22, the opposite later still. So 16.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        J, M = m.set("J", "job"), m.set("M", "machine")
        i, j, k, l = J.index("i"), J.index("j"), M.index("k"), M.index("l")
        D = m.tuples("D", i, j, k, noun="pair of {J_s} on a {M}", plural="pairs of {J_s} on each {M}", name="pairs", where=i < j)
        p = m.param("p", j, k, name="duration", unit="minute", meaning="time that the {J} needs on the {M}")
        r = m.param("r", j, k, name="step", unit="1", sign="positive", integer=True, meaning="place of the {M} on the route of the {J}")
        H = m.param("H", name="shift_length", unit="minute", meaning="length of the shift")
        s = m.var("s", j, k, name="start", unit="minute", meaning="time at which {J} j starts on {M} k")
        C = m.var("C", name="makespan", unit="minute", upper=H, auxiliary=True, meaning="time at which the last {J} is finished")
        m.minimize(makespan=(C, "time until the last {J} is finished"))
        m.require("route", s[j, l] >= s[j, k] + p[j, k], forall=(j, k, l), where=given(r[j, l] == r[j, k] + 1), tightened_by="p",
                  because="each {J} follows its route and starts on a {M} only when it is done on the one before")
        m.either_or("one_at_a_time", s[j, k] >= s[i, k] + p[i, k], s[i, k] >= s[j, k] + p[j, k], H, symbol="y", code_name="goes_first",
                    forall=(i, j, k), where=D[i, j, k], domain=D, tightened_by="p",
                    meaning="1 if {J} i is before {J} j on {M} k, 0 if it is after",
                    because="a {M} works on one {J} at a time, so of two {J_s} one is done before the other starts")
        m.maximum("finish", C, s[j, k] + p[j, k], over=(j, k), tightened_by="p",
                  because="the end of the schedule is not before the end of any operation")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        J, M = names("J", size["jobs"]), names("M", size["machines"])
        p = [[number(rng, 4, 40) for _ in M] for _ in J]
        r = [[int(v) + 1 for v in rng.permutation(len(M))] for _ in J]
        # a feasible schedule in hand gives a shift that is long enough: operations step by step, greedily
        free_job, free_machine = [0] * len(J), [0] * len(M)
        for step in range(1, len(M) + 1):
            for a in range(len(J)):
                b = r[a].index(step)
                begin = max(free_job[a], free_machine[b])
                free_job[a] = free_machine[b] = begin + int(p[a][b])
        H = -(-int(max(free_job) * size["slack"]) // 10) * 10
        return {"J": J, "M": M, "H": H, "p": table(J, M, p), "r": {a: by_label(M, row) for a, row in zip(J, r, strict=True)}}
