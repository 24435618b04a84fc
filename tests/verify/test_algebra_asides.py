"""Words beside formulas that make another model of them are never passed over; those that explain them do not stand in the way."""

from __future__ import annotations

import numpy as np
import pytest

from orpipe.problem import Problem
from orpipe.verify.formulation import judged_algebra
from orpipe.verify.verdict import Verdict

INF = np.inf
REFERENCE = Problem.from_arrays(cost=[3, 2], matrix=np.array([[1.0, 1.0], [2.0, 1.0]]), row_lower=[-INF] * 2, row_upper=[10, 16], lower=[0, 0],
                                upper=[INF] * 2, integer=[True] * 2, columns=("x", "y"), maximize=True)
ANSWER = r"""Let $x$ be the number of chairs and $y$ the number of tables.{v}

**Objective**

Maximize $3x + 2y${o}

**Constraints**

1. Wood: $x + y \le 10${c}
2. Labour: $2x + y \le 16$
3. $x, y \ge 0$ and integer{d}

{e}
"""


def verdict(**parts: str) -> Verdict:
    found = judged_algebra(ANSWER.format(**{**dict.fromkeys("vocde", ""), **parts}), REFERENCE, guarded=False)
    assert found is not None
    return found.verdict


@pytest.mark.parametrize("words", [
    "No more than 4 tables.", "At least 5 chairs.", "Storage holds four tables.", "The customer wants five tables.", "Each at least 5.",
    "The number of tables may not exceed four.", "Each order costs 20 to set up.", "A chair costs 5, a table 4, and 40 is available.",
    "The labour limit is soft.", "The labour limit may be exceeded at a cost of 5 an hour.", "One of the two limits suffices.",
    "Correction: the first limit is 12.", "The right-hand side 16 becomes 18.", "Replace 10 by 12.", "Erratum: 2x should read 3x.",
    "A second objective is to minimize $y$.", "Secondly, minimize the number of tables.", "We also minimize y.",
    "All quantities are in thousands of units.", "The chairs are sold by the dozen.", "We have an existing order for 3 tables.",
    "Variables may be fractional: fractions are fine.", "Tables outnumber chairs.",
])
def test_a_sentence_of_its_own_is_not_passed_over(words: str) -> None:
    for place, before in (("v", " "), ("o", ". "), ("c", ". "), ("d", ". "), ("e", ""), ("e", "## Notes\n"), ("e", "**Remarks.** ")):
        assert verdict(**{place: before + words}) is not Verdict.EQUIVALENT, (place, before)


@pytest.mark.parametrize("words", [", with y = 3", " (where y = 3)", ". Note: x < y.", ". Read ≤ as <.", ", x ≠ 4", " † not for tables"])
def test_nor_is_a_tail_of_a_formula(words: str) -> None:
    for place in "ocd":
        assert verdict(**{place: words}) is not Verdict.EQUIVALENT, place


@pytest.mark.parametrize("words", ["x is continuous.", "x and y are positive.", "x is even.", "y is a multiple of 5."])
def test_nor_is_a_domain_in_words(words: str) -> None:
    for place, before in (("v", " "), ("c", ". "), ("e", "## Notes\n")):
        assert verdict(**{place: before + words}) is not Verdict.EQUIVALENT, (place, before)


@pytest.mark.parametrize("parts", [
    {"c": " (at most 10 boards are available)"}, {"c": ". No more than 10 boards can be used."}, {"d": ", as items cannot be fractional"},
    {"e": "This ensures that no more than 16 hours are worked."}, {"o": " (profit in dollars)"},
    {"v": " There are 10 boards and at most 16 hours of labour."},
])
def test_words_that_explain_do_not_stand_in_the_way(parts: dict[str, str]) -> None:
    assert verdict(**parts) is Verdict.EQUIVALENT
