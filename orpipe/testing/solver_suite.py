"""Conformance suite for solver adapters: small models with known answers, each a kind of trap.

    cases()                 the suite
    fault(adapter, case)    None, or what the adapter did wrong

An adapter that cannot take a case says so in `accepts`; the suite then holds it to refusing in `solve` too.  A known
fault of a library is declared in the adapter's `deviations` and expected to fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from orpipe.errors import Unsupported
from orpipe.mps import assemble
from orpipe.problem import Problem
from orpipe.solve import Outcome, Result, Solver, agree, resolved

INF = None  # no bound on that side
Number = int | str | Fraction | None


@dataclass(frozen=True, eq=False)
class Case:
    """outcome None: the search must be cut short by `nodes` or `time_limit` and say so; with `incumbent` a feasible point has
    to come along.  why: the answer by hand."""

    name: str
    problem: Problem
    outcome: Outcome | None
    objective: Fraction | None
    why: str
    time_limit: float = 20.0
    nodes: int | None = None
    incumbent: bool = False


def model(
    cost: Sequence[Number],
    rows: Sequence[tuple[Number, Mapping[int, Number], Number]],
    bounds: Sequence[tuple[Number, Number]] | None = None,
    *,
    integer: str | Sequence[bool] = "",
    maximize: bool = False,
    offset: Number = 0,
    name: str = "case",
) -> Problem:
    """A Problem from numbers or decimal text; rows are (lower, {column: coefficient}, upper), bounds default to
    [0, inf), integer is "all" or flags."""
    n = len(cost)

    def exact(value: Number) -> Fraction | None:
        return None if value is None else Fraction(value)

    flags = [True] * n if integer == "all" else [bool(v) for v in integer] or [False] * n
    return assemble(
        name=name, maximize=maximize, columns=[f"x{j}" for j in range(n)], cost=[Fraction(v or 0) for v in cost],
        offset=Fraction(offset or 0), rows=[f"r{i}" for i in range(len(rows))],
        entries=[(i, j, Fraction(v or 0)) for i, (_, row, _) in enumerate(rows) for j, v in row.items()],
        row_sides=[(exact(low), exact(high)) for low, _, high in rows],
        bounds=[(exact(low), exact(high)) for low, high in bounds or [(0, INF)] * n], integer=flags,
    )


def fault(adapter: Solver, case: Case) -> str | None:
    """None if the adapter answers the case rightly (or refuses it consistently), else one line saying what is wrong."""
    problem = case.problem
    if reason := adapter.accepts(problem):
        try:
            adapter.solve(problem, case.time_limit)
        except Unsupported as refusal:
            return None if reason in str(refusal) else f"refuses for two reasons: {reason} / {refusal}"
        return f"solves what it refuses ({reason})"
    before = _bytes(problem)
    raw = adapter.solve(problem, case.time_limit, case.nodes)
    if _bytes(problem) != before:
        return "writes to the arrays of the problem"
    if case.outcome is None:
        return _cut_short(case, raw)
    if raw.outcome.proof and raw.outcome is not case.outcome:
        return f"claims {raw}; right is {case.outcome}: {case.why}"
    result = resolved(adapter, problem, raw, case.time_limit, case.nodes)
    if result.outcome is not case.outcome:
        return f"answers {result}; right is {case.outcome}: {case.why}"
    if case.objective is None:
        return None
    if result.objective is None or result.point is None or result.point.shape != (problem.n_vars,):
        return f"optimal without an objective and a point of {problem.n_vars} entries"
    if not agree(result.objective, float(case.objective)):
        return f"objective {result.objective!r}; right is {case.objective}: {case.why}"
    if broken := _broken(problem, result.point):
        return f"the point breaks {broken}"
    again = adapter.solve(problem, case.time_limit, case.nodes)
    same = again.objective == result.objective
    return None if same else f"two solves give {result.objective!r} and {again.objective!r}"


def _cut_short(case: Case, raw: Result) -> str | None:
    if not raw.outcome.limited:
        return f"claims {raw} where the search was cut short"
    if raw.outcome is Outcome.LIMIT:
        return "no incumbent within the limit" if case.incumbent else None
    if raw.objective is None or raw.point is None:
        return "an incumbent without an objective and a point"
    if broken := _broken(case.problem, raw.point):
        return f"the incumbent breaks {broken}"
    value = float(case.problem.cost @ raw.point + float(case.problem.offset))
    return None if agree(raw.objective, value) else f"the incumbent's objective is {value!r}, not {raw.objective!r}"


def _bytes(p: Problem) -> list[bytes]:
    return [a.tobytes() for a in (p.cost, p.lower, p.upper, p.row_lower, p.row_upper, p.integer, p.matrix.data,
                                  p.matrix.indices, p.matrix.indptr)]


def _broken(problem: Problem, x: np.ndarray, tolerance: float = 1e-6) -> str | None:
    if problem.integer.any() and np.abs(x - np.rint(x))[problem.integer].max() > tolerance:
        return "an integrality"
    for what, low, value, high in (("a bound", problem.lower, x, problem.upper),
                                   ("a row", problem.row_lower, problem.matrix @ x, problem.row_upper)):
        slack = tolerance * np.maximum(1.0, np.abs(value))
        if (value < low - slack).any() or (value > high + slack).any():
            return what
    return None


def _triangles(count: int) -> Problem:
    """Vertex covers of triangles with costs 3k+10, 3k+11, 3k+12, and one forced fixed cost of 200000."""
    n = 3 * count
    rows = [(1, {3 * k + a: 1, 3 * k + b: 1}, INF) for k in range(count) for a, b in ((0, 1), (1, 2), (0, 2))]
    return model([*range(10, 10 + n), 200000], [*rows, (1, {n: 1}, INF)], [(0, 1)] * (n + 1), integer="all")


def _market_split() -> Problem:
    """4 equations, 30 binaries, slack on both sides of each: any choice of the binaries is feasible, and no solver here
    closes it in seconds."""
    a = [[(37 * i * i + 101 * j * j + 53 * i * j + 29 * i + 71 * j) % 100 for j in range(30)] for i in range(1, 5)]
    rows = [(sum(r) // 2, {**dict(enumerate(r)), 30 + i: 1, 34 + i: -1}, sum(r) // 2) for i, r in enumerate(a)]
    return model([0] * 30 + [1] * 8, rows, [(0, 1)] * 30 + [(0, 1000)] * 8, integer="all")


def _strict_split() -> Problem:
    """4 equations, 34 binaries, no slack: hardly a choice of them is feasible, and finding one is no matter of a second."""
    state, a = 7, []
    for _ in range(4 * 34):
        state = (state * 1103515245 + 12345) % 2**31
        a.append(state // 65536 % 100)
    rows = [(sum(r) // 2, dict(enumerate(r)), sum(r) // 2) for r in (a[34 * i:34 * i + 34] for i in range(4))]
    return model([0] * 34, rows, [(0, 1)] * 34, integer="all")


@cache
def cases() -> tuple[Case, ...]:
    found: list[Case] = []

    def optimal(name: str, problem: Problem, objective: Number, why: str) -> None:
        found.append(Case(name, problem, Outcome.OPTIMAL, Fraction(objective or 0), why))

    def outcome(name: str, problem: Problem, claim: Outcome, why: str) -> None:
        found.append(Case(name, problem, claim, None, why))

    optimal("lp_textbook", model([3, 5], [(INF, {0: 1}, 4), (INF, {1: 2}, 12), (INF, {0: 3, 1: 2}, 18)], maximize=True),
            36, "x = 2, y = 6; duals 0, 3/2, 1")
    optimal("lp_thirds", model([1, 1], [(INF, {0: 3, 1: 1}, 1), (INF, {0: 1, 1: 7}, 1)], maximize=True),
            "2/5", "both rows tight: x = 3/10, y = 1/10")
    optimal("lp_no_decimal", model([1], [(INF, {0: 3}, 1)], maximize=True), "1/3", "x = 1/3")
    optimal("lp_exact_thirds", model([1, 2], [(INF, {0: "1/3", 1: "1/3"}, "2/3")], maximize=True), 4,
            "x + y <= 2 in thirds that no float holds")
    optimal("lp_minimize_offset", model([2, 3], [(4, {0: 1, 1: 1}, INF)], offset="-1.5"), "6.5", "x = 4, constant -1.5")
    optimal("lp_maximize_offset", model([-2, -3], [(4, {0: 1, 1: 1}, INF)], maximize=True, offset=100), 92, "x = 4")
    optimal("free_columns", model([1, 1], [(-7, {0: 1, 1: 1}, INF), (-2, {0: 1, 1: -1}, 2)], [(INF, INF)] * 2), -7,
            "only the sum matters")
    optimal("fixed_columns", model([1, 1], [(4, {0: 1, 1: 1}, INF)], [("2.5", "2.5"), (0, INF)]), 4, "x = 2.5, y = 1.5")
    optimal("all_columns_fixed", model([1, -1], [(0, {0: 1, 1: 1}, 9)], [(4, 4), (3, 3)]), 1, "4 - 3")
    optimal("equality_row", model([1, 3], [(10, {0: 1, 1: 2}, 10)], [(0, 4), (0, INF)]), 13, "x = 4, y = 3")
    optimal("ranged_row", model([1, 0], [(2, {0: 1, 1: 1}, 4)], [(0, INF), (0, 1)]), 1, "y = 1, x = 1")
    optimal("ranged_row_top", model([1, 1], [(2, {0: 1, 1: 1}, 4)], maximize=True), 4, "upper side")
    optimal("free_row", model([1], [(INF, {0: 5}, INF), (3, {0: 1}, INF)]), 3, "the first row says nothing")
    optimal("zero_row", model([1, 1], [(0, {}, 5), (2, {0: 1, 1: 1}, INF)]), 2, "0 <= 0 <= 5 holds")
    optimal("duplicate_rows", model([1, 1], [(2, {0: 1, 1: 1}, INF)] * 3), 2, "one row three times")
    optimal("negative_upper_bound", model([1], [(-9, {0: 1}, INF)], [(INF, -3)], maximize=True), -3, "x <= -3")
    optimal("no_objective", model([0, 0], [(3, {0: 1, 1: 1}, 3)]), 0, "any feasible point")
    optimal("no_rows", model([1, -1], [], [(0, 5), (0, 5)], offset=2), -3, "x = 0, y = 5")
    optimal("no_columns", model([], [(-1, {}, 1)], offset=3), 3, "only the constant")
    optimal("nothing_at_all", model([], []), 0, "no columns, no rows")
    optimal("degenerate_cycling", model(
        ["-0.75", 20, "-0.5", 6],
        [(INF, {0: "0.25", 1: -8, 2: -1, 3: 9}, 0), (INF, {0: "0.5", 1: -12, 2: "-0.5", 3: 3}, 0), (INF, {2: 1}, 1)]),
        "-5/4", "the simplex cycling example: x0 = x2 = 1, value -3/4 - 1/2")
    optimal("degenerate_assignment", model(
        [4, 1, 3, 2, 0, 5, 3, 2, 2], [(1, {3 * i + j: 1 for j in range(3)}, 1) for i in range(3)]
        + [(1, {3 * i + j: 1 for i in range(3)}, 1) for j in range(3)]), 5, "0-1, 1-0, 2-2: 1 + 2 + 2")
    optimal("tiny_coefficients", model([1], [(1, {0: "0.0000001"}, INF)]), 10**7, "x = 1e7")
    optimal("wide_range", model([1, "0.001"], [(1000000, {0: 1000, 1: "0.001"}, INF)], [(0, INF), (0, 1000000)]), 1000,
            "per unit of the row x costs 0.001 and y costs 1: x = 1000")
    optimal("huge_coefficients", model([2, 3], [(10**10, {0: 10**9, 1: 5 * 10**8}, INF), (INF, {0: 10**9}, 4 * 10**9)]), 44,
            "x costs 2 a unit of 1e9 and y 6: x = 4, then y = 12")
    optimal("huge_costs", model([10**9, 10**9 + 1], [(7, {0: 1, 1: 1}, INF)], [(0, 5), (0, INF)]), 7 * 10**9 + 2, "x = 5, y = 2")
    optimal("huge_and_tiny", model([1, 1], [(1, {0: "0.00001"}, INF), (10**6, {1: 10**6}, INF)]), 100001, "x = 1e5, y = 1")
    optimal("alternative_optima", model([1, 1, 1], [(6, {0: 1, 1: 1, 2: 1}, INF), (4, {0: 1, 1: 1}, INF)]), 6,
            "a whole face is optimal")
    optimal("integer_alternative_optima", model([1] * 4, [(2, {k: 1, (k + 1) % 4: 1}, INF) for k in range(4)], [(0, 2)] * 4,
                                                integer="all"), 4, "x0 = x2 = 2, or all 1, and others")
    optimal("integer_wide_bounds", model([-3, -2], [(INF, {0: 2, 1: 3}, 1999999), (INF, {0: 3, 1: 2}, 2000001)],
                                         [(0, 10**6)] * 2, integer="all"), -2000001, "3x + 2y = 2000001 with 2x + 3y below, as x = 666667, y = 0")
    optimal("empty_column", model([0, 1], [(2, {1: 1}, INF)], [(3, 7), (0, INF)]), 2, "the first column stands nowhere")
    optimal("huge_bounds", model([-1], [(INF, {0: 1}, 123456789)], [(0, 10**12)]), -123456789, "the row binds")

    optimal("mip_textbook", model([3, 5], [(INF, {0: 1, 1: "0.5"}, 4), (INF, {1: 2}, 11), (INF, {0: 3, 1: 2}, 18)],
                                  integer="all", maximize=True, offset=-3), 25, "y = 5, x = 1: 3 + 25 - 3")
    optimal("mip_mixed", model([10, 1], [(0, {0: 7, 1: -1}, INF), ("9.5", {1: 1}, INF)], integer=[True, False]),
            "29.5", "y = 9.5 needs x = 2")
    optimal("knapsack", model([10, 13, 7], [(INF, {0: 5, 1: 6, 2: 4}, 10)], [(0, 1)] * 3, integer="all", maximize=True),
            20, "second and third item: weight 10")
    optimal("integer_fractional_bounds", model([1], [(INF, {0: 1}, 7)], [("0.5", "3.7")], integer="all", maximize=True),
            3, "largest whole number below 3.7")
    optimal("integer_negative_bounds", model([1, 2], [("-7.5", {0: 1, 1: 1}, INF)], [(-5, -1), (-4, -2)],
                                             integer="all"), -11, "x + y >= -7: y = -4 costs least per unit, x = -3")
    optimal("integer_fixed", model([1, 1], [("4.5", {0: 1, 1: 1}, INF)], [(2, 2), (0, 9)], integer="all"), 5, "2 + 3")
    optimal("integer_unbounded_above", model([1, 1], [("7.2", {0: 2, 1: 3}, INF)], integer="all"), 3, "2x + 3y >= 8")
    optimal("integer_decimal_rows", model([1, 1], [("1.05", {0: "0.3", 1: "0.35"}, INF)], [(0, 9)] * 2,
                                          integer="all"), 3, "y = 3 gives exactly 1.05")
    optimal("gap_trap", _triangles(13), 200000 + sum(2 * (10 + 3 * k) + 1 for k in range(13)),
            "each triangle keeps its two cheapest; a relative gap of 1e-4 would stop 20 short")
    optimal("big_m", model([1, 1000], [(5, {0: 1}, INF), (INF, {0: 1, 1: -(10**8)}, 0)], [(0, INF), (0, 1)],
                           integer=[False, True]), 1005, "y = 5e-8 is no whole number")

    infeasible, unbounded = Outcome.INFEASIBLE, Outcome.UNBOUNDED
    outcome("infeasible_rows", model([1, 1], [(INF, {0: 1, 1: 1}, 2), (3, {0: 1, 1: 1}, INF)]), infeasible, "2 < 3")
    outcome("infeasible_behind_presolve", model(
        [-1, -1, 0], [(INF, {0: 1, 1: -1}, 1), (5, {0: 1, 1: 1, 2: 1}, INF), (INF, {0: 1, 1: 1, 2: 1}, 4)]),
        infeasible, "the objective points along a ray, the rows exclude each other")
    outcome("infeasible_unbounded_objective", model([-1, 0], [(1, {1: 1}, INF), (INF, {1: 1}, 0)]), infeasible,
            "x is free to improve, y has no value")
    outcome("zero_row_infeasible", model([1], [(1, {}, INF), (0, {0: 1}, INF)]), infeasible, "0 >= 1")
    outcome("crossed_bounds", model([1, 1], [(1, {0: 1, 1: 1}, INF)], [(3, 2), (0, 5)]), infeasible, "3 <= x <= 2")
    outcome("crossed_row", model([1, 1], [(3, {0: 1, 1: 1}, 2)]), infeasible, "3 <= x + y <= 2")
    outcome("no_columns_infeasible", model([], [(1, {}, INF)]), infeasible, "0 >= 1")
    outcome("integer_parity", model([1, 1], [(3, {0: 2, 1: 2}, 3)], [(0, 10)] * 2, integer="all"), infeasible,
            "even = 3")
    outcome("integer_gap_in_bounds", model([1], [(INF, {0: 1}, 7)], [("0.2", "0.7")], integer="all"), infeasible,
            "no whole number in [0.2, 0.7]")
    outcome("integer_gap_in_row", model([1], [("1.2", {0: 1}, "1.8")], [(0, 5)], integer="all"), infeasible,
            "no whole number in [1.2, 1.8]")
    outcome("integer_infeasible_unbounded_objective", model([-1, 0], [(1, {0: 2, 1: -2}, 1)], integer="all"),
            infeasible, "even = 1, on an unbounded line")
    found[-1] = replace(found[-1], time_limit=2.0)  # branching alone never ends here
    outcome("unbounded_ray", model([0, 1, 0], [(0, {0: 1, 1: -1, 2: 1}, 0)], [(1, INF)] * 3, maximize=True), unbounded,
            "a = b - c grows with b")
    outcome("unbounded_free", model([1, 2], [(2, {0: 1, 1: 1}, INF), (0, {0: 1, 1: -1}, INF)], [(INF, INF)] * 2),
            unbounded, "x up, y down")
    outcome("unbounded_no_rows", model([1, -1], [], [(0, 5), (0, INF)]), unbounded, "y up")
    outcome("integer_unbounded", model([-1, -1], [(INF, {0: 1, 1: -1}, 1)], integer="all"), unbounded, "along (1, 1)")
    found.append(Case("node_limit", _market_split(), None, None, "4 x 30 market split", nodes=50))
    found.append(Case("time_limit", _market_split(), None, None, "4 x 30 market split", time_limit=0.3, incumbent=True))
    found.append(Case("time_limit_no_incumbent", _strict_split(), None, None, "4 x 30 market split without slack", time_limit=0.3))
    return tuple(found)
