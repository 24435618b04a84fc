"""Verdicts that need no certain map, and completions of other columns that are proved: ranges, loosening, rules, cut-off rows."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from orpipe.exact import Exact
from orpipe.lp import read_lp
from orpipe.problem import Problem
from orpipe.testing.equivalence_truth import holds
from orpipe.testing.verifier_corpus import Pair, labelled_pairs
from orpipe.verify.equivalence.changes import bounded_by_rows
from orpipe.verify.equivalence.engine import compare_problems
from orpipe.verify.equivalence.evidence import Comparison
from orpipe.verify.equivalence.loosening import loosened
from orpipe.verify.equivalence.question import beyond_bounds
from orpipe.verify.equivalence.ranges import only, shown, worse
from orpipe.verify.equivalence.reach import Clock
from orpipe.verify.verdict import Verdict


def model(objective: str, rows: str, rest: str = "", sense: str = "minimize") -> Problem:
    return read_lp(f"{sense}\n obj: {objective}\nsubject to\n{rows}\n{rest}\nend\n")


def lifted(problem: Problem, auxiliary: str) -> Problem:
    """With the columns that begin so declared auxiliary."""
    return replace(problem, decision=np.array([not c.startswith(auxiliary) for c in problem.columns]))


BAGS = model("10 h + 6 d", " c1: h + d <= 150\n c2: 0.7 d - 0.3 h <= 0", "bounds\n d >= 10\ngeneral\n h d")


def test_a_worse_point_than_any_of_the_other_refutes_without_a_map() -> None:
    digits = model("10 p + 100 q + 6 r + 60 s", " c1: p + 10 q + r + 10 s <= 150\n c2: 0.7 r + 7 s - 0.3 p - 3 q <= 0\n c3: r + 10 s >= 10",
                   "bounds\n p <= 9\n q <= 9\n r <= 9\n s <= 9\ngeneral\n p q r s")
    found = compare_problems(BAGS, digits)
    assert (found.verdict, found.method) == (Verdict.NOT_EQUIVALENT, "range"), found
    assert found.witness is not None and found.witness.point == {"h": 140, "d": 10} and found.witness.objective_a == 1460
    assert found.sentence.endswith("at an objective of 1460; every point of B has a better one")
    assert holds(BAGS, digits, found) is True  # by another road
    # the reach of the other is larger where its digits go further: nothing is refuted
    wider = model("10 p + 100 q + 6 r + 60 s", " c1: p + 10 q + r + 10 s <= 150\n c2: 0.7 r + 7 s - 0.3 p - 3 q <= 0\n c3: r + 10 s >= 10",
                  "bounds\n p <= 9\n q <= 15\n r <= 9\n s <= 15\ngeneral\n p q r s")
    assert worse(BAGS, wider, Clock(5.0)) is None
    assert holds(BAGS, wider, found) is False


def test_a_worse_point_of_the_judged_model_refutes_where_it_has_as_many_columns() -> None:
    """Assignment with one cost too high, without names: the same optimum, another worst plan."""
    rows = " a: p + q = 1\n b: r + s = 1\n c: p + r = 1\n d: q + s = 1"
    right = model("3 p + 9 q + 8 r + 4 s", rows, "binary\n p q r s")
    wrong = model("3 e + 9 f + 11 g + 4 h", rows.translate(str.maketrans("pqrs", "efgh")), "binary\n e f g h")
    names = {"a": "A", "b": "B"}
    found = shown(right, wrong, Clock(5.0), names)
    assert found is not None and (found.witness.allowed_by, found.witness.objective_a, found.witness.objective_b) == ("b", None, 20)
    assert found.sentence.startswith("B allows") and found.sentence.endswith("at an objective of 20; every point of A has a better one")
    # with a column more, what is worse there may be no decision's doing
    more = model("3 e + 9 f + 11 g + 4 h", rows.translate(str.maketrans("pqrs", "efgh")), "binary\n e f g h k")
    assert shown(right, more, Clock(5.0), names) is None


def test_an_estimate_that_may_grow_is_no_evidence() -> None:
    """The reference's z may lie above both loads, that of the other may not: they are the same to a reader who takes z for a maximum."""
    rows = " a1: z - 3 x >= 0\n a2: z + 3 x >= 3"
    estimate = model("z", rows, "bounds\n x <= 1\n z <= 50\ngeneral\n x")
    exact = model("w", " b1: w - 3 v = 0\n b2: w + 3 u = 3\n b3: u + v >= 1", "bounds\n v <= 1\n u <= 1\n w <= 3\ngeneral\n u v")
    assert worse(estimate, exact, Clock(5.0)) is None
    # as a decision with a row to hold it, it is
    held = model("z", rows + "\n a3: z + x <= 40", "bounds\n x <= 1\n z <= 50\ngeneral\n x")
    assert worse(held, exact, Clock(5.0)) is not None


def test_a_single_point_against_a_model_without_objective() -> None:
    single = model("c + d", " r1: 20 c + 30 d >= 500\n r2: 4 c + 5 d <= 90\n r3: d - c <= 0", "general\n c d")
    still = model("0 p + 0 q", " r1: p + q >= 15\n r2: p - 2 q <= 7", "general\n p q")
    point = only(single, still, Clock(5.0))
    assert point == (10, 10)
    assert only(single, model("0 p + 0 q", " r1: p + q >= 15\n r2: q + r <= 7", "bounds\n r = 3\ngeneral\n p q"), Clock(5.0)) is None  # r is not open
    two = model("c + d", " r1: 20 c + 30 d >= 500\n r2: 4 c + 5 d <= 95\n r3: d - c <= 0", "general\n c d")
    assert only(two, still, Clock(5.0)) is None


def swings(sense: str, rest: str = "") -> Problem:
    rows = " u1: s1 - 2 x >= -4\n u2: s1 + 2 x >= 4\n u3: s2 - x >= -3\n u4: s2 + x >= 3\n risk: 0.5 s1 + 0.5 s2 " + sense + " 4"
    return lifted(model("3 x + y", rows + "\n demand: x + y >= 5", f"bounds\n x <= 20\n y <= 9\n{rest}"), "s")


def test_an_equality_that_an_auxiliary_meets_for_free() -> None:
    found = compare_problems(swings("<="), swings("="))
    assert (found.verdict, found.method) == (Verdict.EQUIVALENT, "projection"), found
    # not so where the auxiliaries have an end: then a calm portfolio is forbidden
    ends = " s1 <= 3\n s2 <= 3"
    assert compare_problems(swings("<=", ends), swings("=", ends)).verdict is Verdict.NOT_EQUIVALENT


def test_what_is_loosened() -> None:
    equal = swings("=")
    auxiliary = ~equal.decision
    open_ = loosened(equal, auxiliary)
    risk = equal.rows.index("risk")
    assert open_.row_lower[risk] == -np.inf and open_.row_upper[risk] == 4
    assert (np.delete(open_.row_lower, risk) == np.delete(equal.row_lower, risk)).all()
    assert loosened(equal, np.zeros(equal.n_vars, bool)) is equal  # decisions are not moved
    priced = lifted(model("3 x + s", " u1: s - x >= 1\n risk: s = 4"), "s")
    assert loosened(priced, ~priced.decision) is priced  # at a cost


def links(limit: str = "3", cost: str = "2", names: str = "q") -> tuple[Problem, Problem]:
    q = [f"{names}{i}{j}" for i in (1, 2) for j in (1, 2, 3)]
    demand = "".join(f" d{j}: {names}1{j} + {names}2{j} = 1\n" for j in (1, 2, 3))
    depot = "".join(f" o{i}: " + " + ".join(f"{names}{i}{j}" for j in (1, 2, 3)) + f" - 3 y{i} <= 0\n" for i in (1, 2))
    link = "".join(f" l{v}: {v} - z{v[-2:]} <= 0\n" for v in q)
    opened = "".join(f" o{i}: z{i}1 + z{i}2 + z{i}3 - {limit} y{i} <= 0\n" for i in (1, 2))
    objective = f"{cost} y1 + 3 y2 + " + " + ".join(f"{k + 1} {v}" for k, v in enumerate(q))
    z = " ".join(f"z{v[-2:]}" for v in q)
    return model(objective, demand + depot, "binary\n y1 y2"), model(objective, demand + link + opened, f"binary\n y1 y2 {z}")


def test_links_that_follow_their_depot() -> None:
    found = compare_problems(*links())
    assert (found.verdict, found.method) == (Verdict.EQUIVALENT, "projection"), found
    a, b = links(limit="2")
    assert compare_problems(a, b).verdict is Verdict.NOT_EQUIVALENT  # one link a depot is missing


def test_bounds_of_the_points_that_break_a_row() -> None:
    p = model("a + b", " r: a + b + c >= 1\n s: a <= 1\n t: 2 b >= 1", "binary\n b c\ngeneral\n a")
    q = bounded_by_rows(p)
    assert q.upper[p.column_index["a"]] == 1 and Fraction(int(q.lower_exact.num[1]), q.lower_exact.den) == Fraction(1, 2)
    a, b, c = (p.column_index[x] for x in "abc")
    w = np.zeros(3)
    w[[a, b, c]] = -128, -128, -57
    # only where 128 a + 128 b + 57 c < 128: a and b are off, c is open
    assert beyond_bounds(q, Exact.of(w), Fraction(-128)) == {a: (None, Fraction(0)), b: (None, Fraction(0))}
    assert beyond_bounds(p, Exact.of(w), Fraction(-128)) == {a: (None, Fraction(0)), b: (None, Fraction(0))}
    assert beyond_bounds(q, Exact.of(w), Fraction(-500)) == {}
    assert beyond_bounds(p, Exact.of(-w), Fraction(128)) == {}  # a has no end


def test_a_cover_row_is_shown_redundant() -> None:
    cost, rows = "5 north + 6 south + 3 east + 3 west", " need: 3 north + 4 south + 2 east + 2 west >= 6.5\n"
    a, b, c, d = (model(cost, rows + more, "binary\n north south east west") for more in (
        "", " cover: north + south >= 1", " cover: north + east >= 1", " cover: north + west >= 2"))
    found = compare_problems(a, b)
    assert found.verdict is Verdict.EQUIVALENT and not {"mip", "second"} & set(found.evidence["solves"]), found
    assert compare_problems(a, c).verdict is Verdict.EQUIVALENT  # south and west are too little as well
    assert compare_problems(a, d).verdict in (Verdict.NOT_EQUIVALENT, Verdict.WRONG_OPTIMUM)


@cache
def outside_pairs() -> dict[str, Pair]:
    return {p.place: p for p in labelled_pairs()}


def outside(place: str) -> Pair:
    found = outside_pairs().get(place)
    if found is None:
        pytest.skip("the labelled pairs of ../shared are not here")
    return found


@pytest.mark.parametrize(("place", "method"), [("p1_a p1_i", "range"), ("p3_a p3_i", "range"), ("p5_a p5_c", "range"),
                                               ("p19_a p19_b", "projection"), ("p9_a p9_b", "containment")])
def test_labelled_pairs(place: str, method: str) -> None:
    pair = outside(place)
    found: Comparison = compare_problems(pair.a, pair.b, budget=30.0)
    assert (found.verdict is Verdict.EQUIVALENT, found.method) == (not pair.different, method), found


def test_one_family_is_not_taken_for_another_where_a_second_could_be_meant_as_well() -> None:
    """n = n_0 + 10 n_1, all of it within the rows: the same plans, written in digits.  A map n -> n_0 says they differ."""
    whole = model("5 n[0] + 3 n[1]", " c1: 6 n[0] + 3 n[1] <= 100\n c2: 4 n[0] + 2 n[1] <= 30", "general\n n[0] n[1]", "maximize")
    tens = "general\n n_0[0] n_0[1] n_1[0] n_1[1]"
    rows = (" c1: 6 n_0[0] + 3 n_0[1] + 60 n_1[0] + 30 n_1[1] <= 100\n c2: 4 n_0[0] + 2 n_0[1] + 40 n_1[0] + 20 n_1[1] <= 30\n"
            " d0: n_0[0] <= 9\n d1: n_0[1] <= 9\n d2: n_1[0] <= 9\n d3: n_1[1] <= 9")
    digits = model("5 n_0[0] + 3 n_0[1] + 50 n_1[0] + 30 n_1[1]", rows, tens, "maximize")
    assert compare_problems(whole, digits).verdict in (Verdict.SAME_OPTIMUM, Verdict.EQUIVALENT)
    # without the tens it is the one family that can be meant
    cut = model("5 m[0] + 3 m[1]", " c1: 6 m[0] + 3 m[1] <= 100\n c2: 4 m[0] + 2 m[1] <= 30\n d1: m[1] <= 9\n", "general\n m[0] m[1]", "maximize")
    assert compare_problems(whole, cut).verdict in (Verdict.NOT_EQUIVALENT, Verdict.WRONG_OPTIMUM)


def test_matching_ends_where_sums_nearly_tie() -> None:
    """Number 52 of these kept scipy's solver busy for hours."""
    code = """
import numpy as np
from orpipe.verify.equivalence.roles import _matched
for seed in range(200):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    rng.random(n)
    near = np.abs(rng.integers(0, 4, (n, 1)) - rng.integers(0, 4, (1, n)))
    value = 3.0 * (rng.integers(0, 3, (n, 1)) == rng.integers(0, 3, (1, n))) + 4 * np.cos(near) + 0.1 * rng.integers(0, 3, (n, n))
    left, right = _matched(value)
    assert sorted(left) == sorted(right) == list(range(n))
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "done\n"
