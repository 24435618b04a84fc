"""Algebra as an answer: the corpus of hand-made answers, and what single constructs mean."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from orpipe.algebra.answer import algebra_answer, holds_formulation, read_answer
from orpipe.algebra.latex import model_tex
from orpipe.algebra.text import model_text
from orpipe.errors import DataError, ParseError, Unsupported
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
    ("- Pair (i >= 2): $\\sum_{i \\in I} x_i \\ge 2$", ""),
    ("- Pair (first item only): $\\sum_{i \\in I} x_i \\ge 2$", ""),
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


COVER = {"I": ["a", "b", "c"], "J": ["p", "q"], "f": {"a": 3, "b": 4, "c": 5}}
PAIRS = [{"round": "a", "place": "p"}, {"round": "b", "place": "p"}, {"round": "b", "place": "q"}, {"round": "c", "place": "q"}]
BY_PAIR = ("$$\\min \\sum_{i \\in I} f_i y_i$$\n$$\\sum_{i : (i,j) \\in A} y_i \\ge 1 \\quad \\forall j \\in J$$\n"
           "$$y_i \\in \\{0,1\\} \\quad \\forall i \\in I$$")
BY_SET = BY_PAIR.replace("i : (i,j) \\in A", "i \\in N_j")


@pytest.mark.parametrize("text, more", [
    (BY_PAIR, {"A": [list(pair.values()) for pair in PAIRS]}),
    (BY_PAIR, {"A": PAIRS}),
    (BY_PAIR.replace("f_i y_i", "f_i y_i + \\sum_{(i,j) \\in A} 0 w_{ij}"), {"A": [pair | {"w": 2} for pair in PAIRS]}),
    (BY_SET, {"N": {"p": ["a", "b"], "q": ["b", "c"]}}),
    ("Let $N_j = \\{i \\in I : (i,j) \\in A\\}$.\n" + BY_SET, {"A": PAIRS}),
    ("Let $A = \\{(a,p), (b,p), (b,q), (c,q)\\}$.\n" + BY_PAIR, {}),
])
def test_pairs_and_families_of_sets_in_the_data(text, more):
    problem = algebra_answer(text, COVER | more)
    assert problem.columns == ("y[a]", "y[b]", "y[c]") and problem.matrix.toarray().tolist() == [[1, 1, 0], [0, 1, 1]]
    assert problem.row_lower.tolist() == [1, 1] and problem.integer.all()


@pytest.mark.parametrize("more, said", [
    ({"A": [PAIRS[0], {"round": "a"}]}, "different fields"),
    ({"A": [{"x": "unknown", "y": "other"}]}, "labels of a set"),
    ({"A": [PAIRS[0] | {"w": 1}, PAIRS[0] | {"w": 2}]}, "same round, place"),
    ({"A": [PAIRS[0] | {"w": "much"}]}, "no number"),
    ({"A": [PAIRS[0] | {"f": 1}]}, "in the data twice"),
])
def test_objects_that_are_no_pairs(more, said):
    with pytest.raises(DataError, match=said):
        algebra_answer(BY_PAIR, COVER | more)


@pytest.mark.parametrize("text, more, said", [
    (BY_SET, {}, "'N' that depend on an index are neither"),
    (BY_SET, {"N": {"p": ["a"]}}, r"no N\[q\]"),
    ("Let $N_j = \\{i : (i,j) \\in A\\}$ and $N_j = \\{i : (i,j) \\in I\\}$.\n" + BY_SET, {"A": PAIRS}, "defined twice"),
    (BY_SET.replace("N_j", "N_{j,i}"), {"N": {"p": ["a"], "q": ["b"]}}, "line 2"),
])
def test_families_of_sets_that_are_not_there(text, more, said):
    with pytest.raises(Unsupported, match=said):
        algebra_answer(text, COVER | more)


@pytest.mark.parametrize("line, low, high", [
    ("x >= 2: boxes sent", 2, np.inf), ("x: boxes sent (x <= 9)", -np.inf, 9), ("x (continuous, >= 0): boxes sent", 0, np.inf),
    ("x: boxes, lower bound = 3, upper bound = 8", 3, 8), ("x in [1, 4]: boxes", 1, 4), ("x is the share of boxes, 0 <= x <= 1.", 0, 1),
])
def test_bounds_in_declarations(line, low, high):
    problem = algebra_answer(f"**Variables**\n- {line}\n\nMaximize 3x + y\n\nSubject to:\nx + y <= 7\n0 <= y <= 5\n")
    assert (problem.lower.tolist(), problem.upper.tolist()) == ([low, 0], [high, 5])


@pytest.mark.parametrize("line", [
    "x: boxes sent, at least 3", "x: boxes sent, x even, x <= 4 only on Monday", "x: a multiple of 5", "x: boxes (maximum 12)",
    "x: between 2 and 9 boxes"])
def test_limits_in_the_words_of_a_declaration_are_never_lost(line):
    with pytest.raises(Unsupported, match="line 2"):
        algebra_answer(f"**Variables**\n- {line}\n\nMaximize 3x + y\n\nSubject to:\nx + y <= 7\n0 <= y <= 5\n")


@pytest.mark.parametrize("row", ["0 <= x, y <= 5", "Both x and y must be between 0 and 5.", "5 >= x, y >= 0"])
def test_bounds_around_a_list(row):
    problem = algebra_answer(f"Maximize 3x + y\n\nSubject to:\nx + y <= 7\n{row}\n")
    assert problem.lower.tolist() == [0, 0] and problem.upper.tolist() == [5, 5]


def test_a_number_of_the_text_may_not_contradict_the_data():
    text = "**Parameters**\n- max_boxes = %d\n\n**Variables**\n- x >= 0: boxes\n\nMaximize 3x\n\nSubject to:\nx <= max_boxes\n"
    assert algebra_answer(text % 4, {"max_boxes": 4}).upper.tolist() == [4]
    with pytest.raises(Unsupported, match="something else in the data"):
        algebra_answer(text % 5, {"max_boxes": 4})
