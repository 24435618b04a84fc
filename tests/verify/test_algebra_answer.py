"""Algebra as an answer: the corpus of hand-made answers, and what single constructs mean."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from orpipe.algebra.answer import algebra_answer, holds_formulation, read_answer
from orpipe.algebra.latex import model_tex
from orpipe.algebra.text import model_text
from orpipe.errors import ParseError, Unsupported
from orpipe.families import families
from orpipe.instances import draw
from orpipe.mps import write_mps
from orpipe.testing.bench_algebra import corpus, judged, shares
from orpipe.verify.equivalence import compare
from orpipe.verify.formulation import judged_algebra
from orpipe.verify.verdict import Verdict

SETS = {"I": ["a", "b", "c"], "c": {"a": 1, "b": 2, "c": 3}, "K": 4}


def test_corpus_without_a_wrong_verdict(capsys):
    results = [judged(e) for e in corpus()]
    with capsys.disabled():
        print("\n" + shares(results))
    assert len(results) >= 60
    assert [(r.entry.name, r.verdict, r.why) for r in results if r.wrong] == []
    due = [r for r in results if r.entry.expected != "UNDECIDED"]
    assert sum(r.parsed for r in due) >= 0.9 * len(due)
    assert all(r.why for r in results if r.verdict == "UNDECIDED")


@pytest.mark.parametrize("name", families.names())
def test_own_text_and_latex_are_the_instance(name):
    for formulation in families[name].formulations:
        instance = draw(name, 1, 0, 1, formulation=formulation)
        for text in (model_text(instance.linear), model_tex(instance.linear)):
            found = compare(instance.problem, algebra_answer(text, instance.data, instance.linear), names="hints", budget=5.0)
            assert found.verdict is Verdict.EQUIVALENT, found.sentence


def test_numbers_bounds_and_kinds():
    problem = algebra_answer("Maximize 2x + \\frac{1}{3}y - 4z\nSubject to:\nx + y + z <= 1,000\n0 <= x <= 7.5\ny >= -2\nz binary\n")
    assert problem.maximize and problem.columns == ("x", "y", "z")
    assert problem.cost_exact.fractions() == [2, Fraction(1, 3), -4]
    assert problem.lower.tolist() == [0, -2, 0] and problem.upper.tolist() == [7.5, np.inf, 1]
    assert problem.integer.tolist() == [False, False, True] and problem.row_upper.tolist() == [1000]


def test_no_domain_means_no_bound_and_is_said():
    found = read_answer("Let $x_i$ be the amount of i.\n\n$$\\min \\sum_{i \\in I} c_i x_i$$\n$$\\text{s.t.} \\sum_{i \\in I} x_i \\ge K$$", SETS)
    assert found.problem.lower.tolist() == [-np.inf] * 3 and "x" in found.notes[0]


@pytest.mark.parametrize("row, said", [
    (r"x_i x_i \le 3 \quad \forall i \in I", "product of two variables"),
    (r"x_i \le q_i \quad \forall i \in I", "'q_{i}' is neither"),
    (r"x_i < 3 \quad \forall i \in I", "strict"),
    (r"\sum_{i \in I} x_i + x_i \le 3", "inside and outside"),
    (r"x_d \le 3", "'d' of 'x' is not"),
    (r"\left| x_a - x_b \right| \le 3", "absolute"),
    (r"\foo x_a \le 3", r"\\foo"),
    (r"x_a \le 3 \text{ if } x_b = 1", "condition"),
    (r"x_a \in \{1, 4\}", "list of values"),
    (r"x_i \le 3 \text{ for the first two}", "words"),
    (r"x_i \le 3 \quad \text{(except for b)}", "words"),
])
def test_what_is_not_understood_is_named_with_its_line(row, said):
    text = "$$\\min \\sum_{i \\in I} c_i x_i$$\nsubject to\n$$x_i \\ge 0 \\quad \\forall i \\in I$$\n$$" + row + "$$\n"
    with pytest.raises(Unsupported, match=f"line 4: .*{said}"):
        algebra_answer(text, SETS)


@pytest.mark.parametrize("said", [
    "Let $M$ be a large constant.", "where $M$ is a sufficiently large number", "**Parameters**\n- $M$: the most that may be made"])
def test_a_number_without_its_value_is_no_variable(said):
    model = "$$\\min \\sum_{i \\in I} c_i x_i \\quad \\text{s.t.} \\quad x_i \\le M, \\ x_i \\ge 0 \\quad \\forall i \\in I$$\n"
    for text in (f"{said}\n\n{model}", f"{model}\n{said}\n"):
        with pytest.raises(Unsupported, match="'M' is neither"):
            algebra_answer(text, SETS)


def test_no_objective_is_no_model():
    with pytest.raises(ParseError, match="no objective"):
        algebra_answer("Subject to:\nx + y <= 3\n")


def test_answers_without_a_program_are_judged_by_their_algebra():
    instance = draw("knapsack", 1, 0, 0)
    reference = instance.problem
    good = model_tex(instance.linear)
    text = write_mps(reference)
    files = {"data.json": json.dumps(instance.data)}
    assert judged_algebra("The answer is 42.", text, files) is None and judged_algebra(good, "", files) is None and not holds_formulation("x")
    right = judged_algebra(good, text, files)
    wrong = judged_algebra(good.replace(r"\le W", r"\ge W"), text, files)
    unread = judged_algebra(good.replace("v_{i}", "z_{i}"), text, files)
    assert right is not None and right.verdict is Verdict.EQUIVALENT
    assert wrong is not None and wrong.verdict in (Verdict.NOT_EQUIVALENT, Verdict.WRONG_OPTIMUM)
    assert unread is not None and unread.verdict is Verdict.UNDECIDED and "line" in unread.reason


def test_answers_to_our_own_formulate_questions_are_judged_by_their_algebra() -> None:
    """The data come from the instance: the question may have told them in words."""
    made = draw("tsp", 1, 3, 0)
    row = {"family": "tsp", "structure_hash": made.structure_hash, "data": json.dumps(dict(made.data))}
    right = model_text(made.linear)
    found = judged_algebra(right, write_mps(made.problem), {}, instance=row)
    assert found is not None and found.verdict is Verdict.EQUIVALENT, found
    wrong = judged_algebra(right.replace("minimize", "maximize", 1), write_mps(made.problem), {}, instance=row)
    assert wrong is not None and wrong.verdict in (Verdict.NOT_EQUIVALENT, Verdict.WRONG_OPTIMUM), wrong


PICK = "$$\\min \\sum_{i \\in I} c_i x_i$$\nsubject to\n%s\n$$x_i \\in \\{0,1\\} \\quad \\forall i \\in I$$\n%s\n"
ROW = "$$\\sum_{i \\in I} x_i \\ge 2$$"


@pytest.mark.parametrize("row, after", [
    (ROW, "Constraint: a and b cannot both be chosen."),
    (ROW, "Note that x_a and x_b cannot both be 1."),
    (ROW, "The variables $x_i$ are at most 5 in all."),
    (ROW, "All $x_i$ that are chosen must be neighbours."),
    (ROW, "We drop the binary restriction on $x_i$."),
    (ROW, "The requirement is relaxed with a price of 3."),
    (ROW, "## Notes\nFurthermore, a is not allowed beside c, and must be chosen before it."),
    (ROW + "\n$$\\text{a and b cannot both be chosen}$$", ""),
    (ROW + " except for c", ""),
    ("For the first group: $\\sum_{i \\in I} x_i \\ge 2$", ""),
    ("Either $\\sum_{i \\in I} x_i \\ge 2$ or nothing", ""),
    ("- Optional: $\\sum_{i \\in I} x_i \\ge 2$", ""),
    ("~~$\\sum_{i \\in I} x_i \\ge 2$~~", ""),
    ("The constraint $\\sum_{i \\in I} x_i \\ge 2$ is not needed.", ""),
    ("$\\sum_{i \\in I} x_i \\ge 2$ (first item excluded)", ""),
    (ROW, "**Solution**\n- $x_a = 1$"),
])
def test_rules_in_words_and_values_of_a_solution_are_never_passed_over(row, after):
    reference = algebra_answer(PICK % (ROW, ""), SETS)
    said = [judged_algebra(PICK % pair, reference, {"data.json": json.dumps(SETS)}) for pair in ((ROW, ""), (row, after))]
    assert [found is not None and found.verdict for found in said] == [Verdict.EQUIVALENT, Verdict.UNDECIDED], said[1]


def test_words_on_a_row_by_its_name_are_no_rule_of_their_own():
    made = draw("knapsack", 1, 0, 0)
    tex = model_tex(made.linear)
    assert r"\tag{capacity}" in tex
    for told in (tex, f"```text\n{model_text(made.linear)}```\n"):
        said = [f"{told}\n\nThe constraints, by name:\n\n- `capacity`: no more than the limit is loaded\n",
                f"{told}\n\nC1 and C2 cannot both be chosen.\n",
                f"{told}\n\n- C1 must be chosen\n"]
        found = [judged_algebra(text, made.problem, {"data.json": json.dumps(made.data)}) for text in said]
        assert [f is not None and f.verdict for f in found] == [Verdict.EQUIVALENT, Verdict.UNDECIDED, Verdict.UNDECIDED], found
