"""What is written as LP is read back whole by us, and read as the same model by HiGHS."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings

from orpipe.errors import ParseError, Unsupported
from orpipe.families import Rejected, families
from orpipe.instances import draw
from orpipe.lp import read_lp
from orpipe.lp_write import write_lp
from orpipe.mps import read_mps, write_mps
from orpipe.problem import Problem
from orpipe.testing.solver_suite import Case, model
from orpipe_solvers.highs import read_mps_file
from test_mps import WRITTEN, problems, same_numbers

NAMES = ("x[0]", "Servings[food_0, 1]", "y[Zürich]", "free", "e5", "a-b", "3x", "end", "", "x_0", "\\", '"', "\n")


def refused(problem: Problem) -> bool:
    """Crossed sides, which LP readers differ on."""
    crossed = (problem.row_lower > problem.row_upper).any() or (problem.lower > problem.upper).any()
    return bool(crossed) or (problem.n_rows > 0 and not problem.n_vars)


@settings(max_examples=150, deadline=None)
@given(problems())
def test_round_trip_is_exact(problem: Problem) -> None:
    same_numbers(problem, read_lp(write_lp(problem)))


@pytest.mark.parametrize("case", [c for c in WRITTEN if c.name != "lp_exact_thirds" and not refused(c.problem)], ids=lambda c: c.name)
def test_the_cases_of_the_solver_suite_survive(case: Case) -> None:
    same_numbers(case.problem, read_lp(write_lp(case.problem)))


@pytest.mark.parametrize("family", sorted(f.name for f in families))
def test_every_family_survives(family: str) -> None:
    for index in range(50):
        try:
            problem = draw(family, 1, 3, index).problem
            break
        except Rejected:
            continue
    for back in (read_lp(write_lp(problem)), read_mps(write_mps(problem))):
        assert back.columns == problem.columns and back.rows == problem.rows
        assert problem.difference(back) is None or any(v.denominator % 3 == 0 for v in problem.matrix_exact.fractions())
        same_numbers(back, read_lp(write_lp(back)))


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_highs_reads_the_same_model(problem: Problem, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "theirs.lp"
    path.write_text(write_lp(problem), encoding="utf-8")
    theirs, ours = read_mps_file(path), read_lp("\n".join(x for x in path.read_text().splitlines() if not x.startswith("\\")))
    assert theirs.columns == ours.columns
    kept = [k for k, name in enumerate(ours.rows) if name in theirs.rows]
    assert all(not (abs(ours.row_lower[k]) < 1e300 or abs(ours.row_upper[k]) < 1e300) for k in range(ours.n_rows) if k not in kept)
    assert (theirs.maximize, theirs.offset) == (ours.maximize, Fraction(repr(float(ours.offset))))
    for a, b in ((theirs.cost, ours.cost), (theirs.lower, ours.lower), (theirs.upper, ours.upper), (theirs.integer, ours.integer),
                 (theirs.row_lower, ours.row_lower[kept]), (theirs.row_upper, ours.row_upper[kept]),
                 (theirs.matrix.toarray(), ours.matrix.toarray()[kept])):
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("write_read", [(write_lp, read_lp), (write_mps, read_mps)], ids=["lp", "mps"])
def test_names_that_the_format_cannot_carry_come_back(write_read) -> None:
    write, read = write_read
    n = len(NAMES)
    problem = replace(model([1] * n, [(1, dict.fromkeys(range(n), 1), 9), (1, {0: 1}, 5)]), columns=NAMES, rows=("obj", "sum of all"))
    same_numbers(problem, read(write(problem)))


def test_a_row_in_thirds_is_scaled_and_the_rest_stays() -> None:
    back = read_lp(write_lp(model([1, 2], [("1/7", {0: "1/3", 1: "0.5"}, "2/3"), (None, {0: "0.1"}, "0.3")])))
    assert back.matrix_exact.fractions() == [14, 21, Fraction(1, 10)] and back.cost_exact.fractions() == [1, 2]
    assert back.row_lower_exact.fractions()[0] == 6 and back.row_upper_exact.fractions() == [28, Fraction(3, 10)]


@pytest.mark.parametrize(("problem", "words"), [
    (model(["1/3"], []), "objective coefficient of x0"), (model([1], [], offset="1/7"), "objective constant"),
    (model([1], [], [(0, "2/3")]), "bound of x0"), (model([1], [(2, {0: 1}, 1)]), "row 'r0'"),
    (model([1], [], [(3, 2)]), "bound of x0"), (model([1], [], [(0, 10**20)]), "bound of x0 is 1e\\+20, which is infinite"),
    (model([1], [(None, {0: 1}, 10**21)]), "row 'r0' is 1e\\+21"), (model([], [(0, {}, 1)]), "without columns"),
])
def test_what_lp_cannot_say_exactly_is_refused(problem: Problem, words: str) -> None:
    with pytest.raises(Unsupported, match=words):
        write_lp(problem)


def test_the_upper_side_must_be_that_of_its_row() -> None:
    text = write_lp(model([1], [(1, {0: 1}, 5)]))
    assert read_lp(text).n_rows == 1
    with pytest.raises(ParseError, match="upper side"):
        read_lp(text.replace("r0_hi: + 1 x0", "r0_hi: + 2 x0"))


@pytest.mark.parametrize(("comment", "words"), [
    ('\\ column x = "a', None), ('\\ column x = "a\\q"', "line 1: the own name"),
    ('\\ column x = "a"\n\\ column x = "b"', "line 2: column 'x' has two"),
])
def test_comments_with_names_are_read_or_refused(comment: str, words: str | None) -> None:
    text = f"{comment}\nMinimize\n x\nSubject To\n r: x >= 1\nEnd\n"
    if words is None:
        assert read_lp(text).columns == ("x",)
        return
    with pytest.raises(ParseError, match=words):
        read_lp(text)


@pytest.mark.parametrize(("text", "line"), [
    ("Minimize\n x\nSubject To\n r: x >= 1e30\nEnd\n", 4), ("Minimize\n x\nSubject To\n r: x >= 1\nBounds\n x <= 1e30\nEnd\n", 6),
    ("Minimize\n x\nSubject To\n r: 1e20 <= x\nEnd\n", 4), ("Minimize\n x\nSubject To\n r: x - 1e20 <= 3\nEnd\n", 4),
    ("Minimize\n x\nSubject To\n r: x >= 1\nBounds\n -1e20 <= x\nEnd\n", 6), ("Minimize\n x\nSubject To\n r: x >= inf\nEnd\n", 4),
    ("Minimize\n x\nSubject To\n r: inf <= x\nEnd\n", 4), ("Minimize\n x\nSubject To\n r: x = -inf\nEnd\n", 4),
    ("Minimize\n x\nSubject To\n r: x >= 1\nBounds\n x <= 3\nBinary\n x\nEnd\n", 8),
    ("Minimize\n x\nSubject To\n r: x >= 1\nBounds\n x <= -3\nEnd\n", 6),
])
def test_what_readers_differ_on_is_refused_with_the_line(text: str, line: int) -> None:
    with pytest.raises(ParseError, match=f"LP line {line}:"):
        read_lp(text)


def test_written_files_need_no_other_encoding(tmp_path: Path) -> None:
    path = tmp_path / "model.lp"
    problem = replace(model([1], [(1, {0: 1}, 5)]), columns=("Größe",))
    path.write_text(write_lp(problem), encoding="utf-8")
    assert "Gr_e" in path.read_text(encoding="utf-8") and read_lp(path.read_text(encoding="utf-8")).columns == ("Größe",)
