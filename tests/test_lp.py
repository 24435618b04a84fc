"""LP files are read exactly or refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from orpipe.errors import ParseError, Unsupported
from orpipe.lp import read_lp
from orpipe.solve import Label, label

SAMPLE = Path(__file__).resolve().parents[2] / "shared" / "benchmarks" / "bench4opt_sample"
INF = np.inf

WHOLE = r"""
\ a comment
Maximize
  cost: 3 x[0] + 2.50 Servings[food_0,1]
   - z + 1e1  \ the constant
Subject To
 first: x[0] + 2 x[0] - 1 >= 2
 -3 <= x[0] + y <= 8
 R7: 2 <= y
 y - z = -0.1
 last: - x[0] - - y < + 5
Bounds
 y <= 7
 -inf <= z <= 3
 x[0] free
 2 <= w <= 4.5
 v = 1
General
 y w
Binaries
 b
End
text behind the end
"""


def test_every_section_is_read_and_names_are_kept() -> None:
    p = read_lp(WHOLE)
    assert p.maximize and p.offset == 10
    assert p.columns == ("x[0]", "Servings[food_0,1]", "z", "y", "w", "v", "b")
    assert p.cost.tolist() == [3, 2.5, -1, 0, 0, 0, 0]
    assert p.rows == ("first", "R1", "R7", "R3", "last")
    assert p.matrix.toarray()[:, :4].tolist() == [[3, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 1], [0, 0, -1, 1], [-1, 0, 0, 1]]
    assert p.row_lower.tolist() == [3, -3, 2, -0.1, -INF] and p.row_upper.tolist() == [INF, 8, INF, -0.1, 5]
    assert p.row_lower_exact.num[3] * Fraction(1, p.row_lower_exact.den) == Fraction(-1, 10)
    assert p.lower.tolist() == [-INF, 0, -INF, 0, 2, 1, 0] and p.upper.tolist() == [INF, INF, 3, 7, 4.5, 1, 1]
    assert p.integer.tolist() == [False, False, False, True, True, False, True]


def test_a_constant_on_the_left_moves_to_the_right() -> None:
    """S5: x - 1 >= 2 is x >= 3, not x >= 2."""
    found = label(read_lp("Minimize\n x\nSubject To\n x - 1 >= 2\nEnd\n"))
    assert isinstance(found, Label) and found.objective == 3


def test_numbers_are_the_printed_decimals() -> None:
    p = read_lp("min\n 0.1 x\nst\n 0.3333333333333333333333 x >= 1\nend\n")
    assert p.matrix_exact.num[0] * Fraction(1, p.matrix_exact.den) == Fraction(3333333333333333333333, 10**22)


def lp(rows: str = " x + y >= 1", bounds: str = "", more: str = "", objective: str = " x + y") -> str:
    return f"Minimize\n{objective}\nSubject To\n{rows}\nBounds\n{bounds}\n{more}\nEnd\n"


@pytest.mark.parametrize(("text", "words"), [
    (lp("[ x * y ] >= 1"), "quadratic"), (lp(objective=" x + [ x ^2 ] / 2"), "quadratic"), (lp(" x * y >= 1"), "not linear"),
    (lp(" b = 1 -> x >= 2"), "indicator"), (lp(more="SOS1\n s: x:1 y:2"), "outside linear"), (lp(more="Semi-Continuous\n x"), "outside linear"),
    (lp(more="General Constraints\n x = MAX ( y , 2 )"), "outside linear"), ("Minimize multi-objectives\n a: x\nEnd\n", "several objectives"),
])
def test_what_is_not_linear_is_named(text: str, words: str) -> None:
    with pytest.raises(Unsupported, match=words):
        read_lp(text)


@pytest.mark.parametrize(("text", "words"), [
    ("", "cut off"), ("x + y\n", "before the objective"), ("Minimize\n x\nSubject To\n x >= 1\n", "cut off"), (lp(" x >= "), "a number"),
    (lp(" >= 3"), "no variable"), (lp(" 3 >= 2"), "no variable"), (lp(" a: x >= 1\n a: y >= 1"), "twice"), (lp(" x y >= 1"), "<=, >= or ="),
    (lp(bounds=" x <= -2"), "negative upper"), (lp(bounds=" x >= 1 y"), "a bound needs|expected"), (lp(bounds=" x >= y"), "one variable"),
    (lp(bounds=" x >= inf"), "wrong side"), (lp(bounds=" b <= 3", more="Binary\n b"), "outside 0 and 1"),
    (lp(more="General\n 3"), "list of variables"),
    ("Subject To\n x >= 1\nEnd\n", "no objective"), ("Minimize\n x\nMaximize\n x\nEnd\n", "twice"), (lp(objective=" x + "), "a term"),
])
def test_what_is_wrong_or_ambiguous_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(ParseError, match=words):
        read_lp(text)


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="the Bench4Opt sample is not here")
def test_the_sample_of_bench4opt() -> None:
    """Optima found by reading the same files with Gurobi."""
    optima = {"40": 11310.978847960463, "48": 444765.25786108576, "64": 134.34399896545304, "72": 35.9153386102, "8": 175.31909541700927}
    for name, optimum in optima.items():
        found = label(read_lp((SAMPLE / f"{name}.lp").read_text()))
        assert isinstance(found, Label) and found.objective == pytest.approx(optimum, rel=1e-9)
    for name in ("0", "16", "80", "88"):
        found = label(read_lp((SAMPLE / f"{name}.lp").read_text()))
        assert isinstance(found, Label) and found.status == "infeasible"
    for name in ("32", "56"):
        with pytest.raises(Unsupported, match="quadratic"):
            read_lp((SAMPLE / f"{name}.lp").read_text())
