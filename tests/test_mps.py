"""Exact MPS: what is written is read back, by us and by two other parsers; the ambiguous is refused with its line."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orpipe.errors import ParseError, Unsupported
from orpipe.lp import read_lp
from orpipe.lp_write import write_lp
from orpipe.mps import assemble, read_mps, write_mps
from orpipe.problem import Problem
from orpipe.solve import Outcome, Result, agree, settle, solver
from orpipe.testing.solver_suite import Case, cases, model
from orpipe_solvers import solve_mps_text

CROSSED = {"crossed_row"}
WRITTEN = [case for case in cases() if case.outcome is not None and case.name not in CROSSED]


def same_numbers(a: Problem, b: Problem) -> None:
    """Entry by entry in exact arithmetic, names and order included."""
    assert (a.columns, a.rows, a.maximize, a.offset) == (b.columns, b.rows, b.maximize, b.offset)
    assert a.integer.tolist() == b.integer.tolist()
    assert a.matrix.indptr.tolist() == b.matrix.indptr.tolist()
    assert a.matrix.indices.tolist() == b.matrix.indices.tolist()
    for x, y in ((a.cost_exact, b.cost_exact), (a.matrix_exact, b.matrix_exact)):
        assert x.fractions() == y.fractions()
    for x, y, f, g in ((a.lower_exact, b.lower_exact, a.lower, b.lower),
                       (a.upper_exact, b.upper_exact, a.upper, b.upper),
                       (a.row_lower_exact, b.row_lower_exact, a.row_lower, b.row_lower),
                       (a.row_upper_exact, b.row_upper_exact, a.row_upper, b.row_upper)):
        assert f.tolist() == g.tolist()
        assert [v for v, k in zip(x.fractions(), np.isfinite(f), strict=True) if k] == [
            v for v, k in zip(y.fractions(), np.isfinite(g), strict=True) if k]


def decimal_only(case: Case) -> bool:
    return case.name != "lp_exact_thirds"


@pytest.mark.parametrize("case", [c for c in WRITTEN if decimal_only(c)], ids=lambda c: c.name)
def test_our_reader_gives_back_what_was_written(case: Case) -> None:
    same_numbers(case.problem, read_mps(write_mps(case.problem)))


def holds(case: Case, result: Result) -> None:
    assert result.outcome is case.outcome, str(result)
    if case.objective is not None:
        assert result.objective is not None and agree(result.objective, float(case.objective)), str(result)


@pytest.mark.parametrize("case", WRITTEN, ids=lambda c: c.name)
def test_our_reader_keeps_the_answer(case: Case) -> None:
    holds(case, settle(solver("highs"), read_mps(write_mps(case.problem))))


@pytest.mark.parametrize("case", WRITTEN, ids=lambda c: c.name)
def test_ortools_reads_the_same_model(case: Case) -> None:
    holds(case, solve_mps_text(write_mps(case.problem)))


@pytest.mark.parametrize("case", WRITTEN, ids=lambda c: c.name)
def test_highs_reads_the_same_model(case: Case, tmp_path, capfd) -> None:
    from orpipe_solvers.highs import read_mps_file

    path = tmp_path / "case.mps"
    path.write_text(write_mps(case.problem))
    theirs = read_mps_file(path)
    free = np.isfinite(case.problem.row_lower) | np.isfinite(case.problem.row_upper)  # HiGHS drops rows without sides
    assert theirs.columns == case.problem.columns
    assert theirs.rows == tuple(name for name, kept in zip(case.problem.rows, free, strict=True) if kept)
    holds(case, settle(solver("highs"), theirs))
    assert capfd.readouterr().out == ""


def test_names_survive_and_blanks_become_unique() -> None:
    problem = model([1, 1, 1, 1], [(1, {0: 1, 1: 1, 2: 1, 3: 1}, 9), (1, {0: 1}, 5)])
    columns = ("ship[North,C 1]", "ship[North,C_1]", "y[Zürich]", "$x")
    problem = replace(problem, columns=columns, rows=("obj", "demand[C3]"))
    back = read_mps(write_mps(problem))
    assert back.columns == columns
    assert back.rows == ("obj", "demand[C3]")
    assert solve_mps_text(write_mps(problem)).outcome is Outcome.OPTIMAL


def test_a_row_in_thirds_is_scaled_to_whole_numbers() -> None:
    back = read_mps(write_mps(model([1, 2], [("1/7", {0: "1/3", 1: "0.5"}, "2/3")])))
    assert back.matrix_exact.fractions() == [14, 21]
    assert back.row_lower_exact.fractions() == [6] and back.row_upper_exact.fractions() == [28]


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (model(["1/3"], []), "objective coefficient of x0"),
        (model([1], [], offset="1/7"), "objective constant"),
        (model([1], [], [(0, "2/3")]), "bound of x0"),
        (model([1], [(2, {0: 1}, 1)]), "row 'r0'"),
        (model([1], [], [(0, 10**20)]), "bound of x0 is 1e\\+20, which is infinite"),
        (model([1], [(None, {0: 1}, 10**21)]), "row 'r0' has a side of 1e20 or more"),
        (model([1], [(-6 * 10**19, {0: 1}, 6 * 10**19)]), "row 'r0' has a side of 1e20 or more"),  # in RANGES
    ],
)
def test_what_would_be_rounded_is_refused(problem: Problem, words: str) -> None:
    with pytest.raises(Unsupported, match=words):
        write_mps(problem)


GOOD = """\
* a comment
NAME two words
OBJSENSE MAX
ROWS
 N cost
 L cap
 G need
 E even
 N note
COLUMNS
 x cost 3 cap 1
 x need 1e0
 MARKER 'MARKER' 'INTORG'
 y cost -.5 cap 2.50
 y even +1
 MARKER 'MARKER' 'INTEND'
RHS
 R cap 10 need 1
 R cost -7
RANGES
 cap 4
 even -2
BOUNDS
 UP B x inf
 LO B y -3
 UP B y 8
ENDATA
"""


def test_reader_understands_pairs_comments_markers_and_ranges() -> None:
    p = read_mps(GOOD)
    assert (p.name, p.maximize, p.offset) == ("two words", True, 7)
    assert (p.columns, p.rows) == (("x", "y"), ("cap", "need", "even", "note"))
    assert p.cost_exact.fractions() == [3, Fraction(-1, 2)] and p.integer.tolist() == [False, True]
    assert p.matrix.toarray().tolist() == [[1, 2.5], [1, 0], [0, 1], [0, 0]]
    assert p.row_lower.tolist() == [6, 1, -2, -np.inf] and p.row_upper.tolist() == [10, np.inf, 0, np.inf]
    assert p.lower.tolist() == [0, -3] and p.upper.tolist() == [np.inf, 8]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("ROWS\n", "ROWS\n X cost\n", 5, "expected a row type"),
        (" L cap", " L cost", 6, "'cost' stands twice"),
        (" x cost 3 cap 1", " x cost 3 cup 1", 11, "unknown row 'cup'"),
        (" x need 1e0", " x need one", 12, "'one' is no number"),
        (" x need 1e0", " x need nan", 12, "'nan' is no number"),
        (" x need 1e0", " x cap 2", 12, "two entries in row 'cap'"),
        (" x need 1e0", " x cost 2", 12, "two objective coefficients"),
        (" y even +1", " x even +1", 15, "'x' stands in two places"),
        ("'INTORG'", "'INTEND'", 13, "marker"),
        (" R cost -7", " S cost -7", 19, "a second RHS set"),
        (" R cost -7", " R cap 7", 19, "stands twice"),
        (" R cost -7", " R note 7", 19, "means nothing"),
        (" even -2", " even -2 3", 22, "expected one or two pairs|'even' is no number|-2"),
        (" UP B x inf", " SC B x 4", 24, "unknown bound type 'SC'"),
        (" UP B x inf", " UP B x -inf", 24, "bound UP at -inf"),
        (" UP B x inf", " UP B x -4", 24, "'x' has a negative upper bound"),
        (" UP B y 8\n", "", 25, "integer column 'y' has no upper bound"),
        (" LO B y -3", " UP B y 3", 26, "two upper bounds"),
        (" LO B y -3", " LO C y -3", 25, "a second BOUNDS set"),
        ("RANGES", "QUADOBJ", 20, "unknown section 'QUADOBJ'"),
        ("RANGES", "RHS", 20, "section RHS stands twice"),
        ("OBJSENSE MAX", "OBJSENSE UP", 3, "unknown objective sense"),
        ("ENDATA\n", "", 26, "without ENDATA"),
        (" UP B x inf", " UP B x 1e20", 24, "bound UP at 1e20, which is infinite to some readers"),
        (" LO B y -3", " LO B y -1E+30", 25, "bound LO at -1E\\+30"),
        (" R cap 10", " R cap 1e20", 18, "right-hand side of row 'cap': it is infinite"),
        (" cap 4", " cap 1e30", 21, "range of row 'cap': it is infinite"),
        (" even -2", " even -2\n need 99999999999999999999", 23, "side and range together: it is infinite"),
    ],
)
def test_reader_refuses_with_the_line(old: str, new: str, line: int, words: str) -> None:
    assert old in GOOD
    with pytest.raises(ParseError, match=f"line {line}: .*({words})"):
        read_mps(GOOD.replace(old, new, 1))


def test_the_largest_side_is_read_as_a_number_and_written_again() -> None:
    side = 10**20 - 1
    p = model([1], [(None, {0: 1}, side)], [(-side, side)])
    assert read_mps(write_mps(p)).difference(p) is None and read_lp(write_lp(p)).difference(p) is None


def test_ortools_parser_refuses_nonsense() -> None:
    with pytest.raises(ParseError, match="OR-Tools cannot read"):
        solve_mps_text("this is no MPS")


decimals = st.builds(lambda n, k: Fraction(n, 10**k), st.integers(-10**6, 10**6), st.integers(0, 6))
sides = st.tuples(decimals, decimals, st.booleans(), st.booleans()).map(
    lambda s: (min(s[:2]) if s[2] else None, max(s[:2]) if s[3] else None))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    n, m = draw(st.integers(1, 5)), draw(st.integers(0, 4))
    cells = st.tuples(st.integers(0, max(m - 1, 0)), st.integers(0, n - 1))
    entries = draw(st.dictionaries(cells, decimals)) if m else {}
    # Names short enough and numbers few enough to look like fixed-format MPS to a reader that guesses.
    names = draw(st.lists(st.text("abRHSBND01[],_", min_size=1, max_size=9), min_size=n, max_size=n, unique=True))
    return assemble(
        name="p", maximize=draw(st.booleans()), columns=names, cost=[draw(decimals) for _ in names],
        offset=draw(decimals),
        rows=[f"row{i}" for i in range(m)], entries=[(i, j, v) for (i, j), v in entries.items()],
        row_sides=[draw(sides) for _ in range(m)], bounds=[draw(sides) for _ in range(n)],
        integer=[draw(st.booleans()) for _ in range(n)],
    )


@settings(max_examples=150, deadline=None)
@given(problems())
def test_round_trip_is_exact(problem: Problem) -> None:
    same_numbers(problem, read_mps(write_mps(problem)))


@settings(max_examples=100, deadline=None)
@given(problems())
def test_ortools_parses_every_number(problem: Problem) -> None:
    from orpipe_solvers._ortools import parse_mps

    theirs = parse_mps(write_mps(problem))
    assert theirs.columns == problem.columns and theirs.rows == problem.rows
    assert (theirs.maximize, theirs.integer.tolist()) == (problem.maximize, problem.integer.tolist())
    assert theirs.offset == Fraction(repr(float(problem.offset)))
    # A range is added to its side in floats by the reader; everything else arrives as printed.
    for a, b, slack in ((theirs.cost, problem.cost, 0),
                        (theirs.lower, problem.lower, 0), (theirs.upper, problem.upper, 0),
                        (theirs.matrix.toarray(), problem.matrix.toarray(), 0),
                        (theirs.row_lower, problem.row_lower, 1e-9), (theirs.row_upper, problem.row_upper, 1e-9)):
        np.testing.assert_allclose(a, b, rtol=0, atol=slack)
