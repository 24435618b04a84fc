"""What published judges get wrong, and the tolerances: each trap on the smallest models that show it."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from orpipe.errors import Unsupported
from orpipe.lp import read_lp
from orpipe.problem import Problem
from orpipe.verify import compare
from orpipe.verify.equivalence import Guard, fingerprint
from orpipe.verify.verdict import Verdict


def model(text: str) -> Problem:
    """LP text with its sections on one line each: «min x + y; c: x + y >= 1; bounds x <= 3; int x»."""
    heads = {"min": "Minimize", "max": "Maximize", "bounds": "Bounds", "int": "General", "bin": "Binary"}
    out, rows = [], False
    for part in text.split(";"):
        head, _, rest = part.strip().partition(" ")
        if head in heads:
            rows = rows or head in ("bounds", "int", "bin")
            out += [heads[head], *((" obj: " + rest,) if head in ("min", "max") else tuple(" " + p for p in rest.split(",")))]
        else:
            if "Subject To" not in out:
                out.append("Subject To")
            out.append(" " + part.strip())
    return read_lp("\n".join([*out, "End"]))


SUPPLY = "min 4 x + 3 y + 10 z; need: x + y >= 6; most: x + 2 y - 9 z <= 0; bounds x <= 5; bin z"


def same(a: str, b: str, **settings: object) -> Verdict:
    return compare(model(a), model(b), **settings).verdict  # type: ignore[arg-type]


WRONG = {Verdict.NOT_EQUIVALENT, Verdict.WRONG_OPTIMUM}

EQUAL = {
    "itself": (SUPPLY, SUPPLY),
    "a row doubled": (SUPPLY, SUPPLY.replace("most:", "again: x + y >= 6; most:")),
    "a row negated": (SUPPLY, SUPPLY.replace("need: x + y >= 6", "need: - x - y <= -6")),
    "a row scaled": (SUPPLY, SUPPLY.replace("most: x + 2 y - 9 z <= 0", "most: 0.5 x + y - 4.5 z <= 0")),
    "a bound as a row": (SUPPLY, SUPPLY.replace("bounds x <= 5; ", "").replace("most:", "lim: 2 x <= 10; most:")),
    "a row as a bound": (SUPPLY.replace("bounds x <= 5; ", "").replace("most:", "lim: x <= 5; most:"), SUPPLY),
    "min f as max -f": (SUPPLY, SUPPLY.replace("min 4 x + 3 y + 10 z", "max - 4 x - 3 y - 10 z")),
    "0-1 as whole between 0 and 1": (SUPPLY, SUPPLY.replace("bounds x <= 5; bin z", "bounds x <= 5, z <= 1; int z")),
    "a looser row beside": (SUPPLY, SUPPLY.replace("most:", "loose: x + y >= 5; most:")),
    "an inequality both ways": ("min x; c: x + y = 4; bounds y <= 3", "min x; c: x + y >= 4; d: x + y <= 4; bounds y <= 3"),
    "a constant in the objective": ("min 2 x + 5; c: x + y >= 3; bounds y <= 2", "min 2 x + 5 o; c: x + y >= 3; bounds y <= 2, 1 <= o <= 1"),
    "the 2x2 assignment with equal costs": (
        "min a + b + c + d; r: a + b = 1; s: c + d = 1; t: a + c = 1; u: b + d = 1; bin a b c d",) * 2,
    "a slack": ("min x + 2 y; c: x + y >= 4; d: x - y <= 2", "min x + 2 y; c: x + y - s = 4; d: x - y + t = 2"),
    "a bound of the objective": ("min 2 x + y; c: x + y >= 4; d: x >= 1", "min w; c: x + y >= 4; d: x >= 1; e: w - 2 x - y >= 0; bounds w free"),
    "counted from its lower bound": ("min 3 x + y; c: x + y >= 9; bounds 2 <= x <= 6", "min 3 v + y + 6; c: v + y >= 7; bounds v <= 4"),
    "half a unit more on whole numbers": ("max x + y; c: 2 x + 2 y <= 7; int x y", "max x + y; c: x + y <= 3; int x y"),
    "binary digits": ("max 3 x + y; c: x + y <= 7.5; bounds x <= 6; int x",
                      "max 3 x + y; c: x + y <= 7.5; e: x - p - 2 q - 4 r = 0; bounds x <= 6; bin p q r"),
    "weak and strong linking": (
        "min 5 z + x + 2 y; n: x + y >= 2; a: x + y - 2 z <= 0; bin x y z",
        "min 5 z + x + 2 y; n: x + y >= 2; a: x - z <= 0; b: y - z <= 0; bin x y z"),
}


@pytest.mark.parametrize("name", EQUAL)
def test_harmless_differences_are_accepted(name: str) -> None:
    a, b = EQUAL[name]
    assert same(a, b) is Verdict.EQUIVALENT
    assert same(b, a) is Verdict.EQUIVALENT


DIFFERENT = {
    "max for min with the same coefficients": ("min x + y; c: x + y = 3", "max x + 2 y; c: x + y = 3"),
    "max for min where the optimum stays": ("min x + y; c: x + y = 3; d: x <= 1", "max x - y; c: x + y = 3; d: x <= 1"),
    "-x >= -3 is no x >= 3": ("max x; c: - x >= -3; bounds x <= 9", "max x; c: x >= 3; bounds x <= 9"),
    "a singleton row looser than the bound": ("max x + y; c: x + y <= 9; bounds x <= 3", "max x + y; c: x + y <= 9; d: x <= 8"),
    "a lower bound of 0 that is not there": ("min y; c: x + y >= -2; bounds x free, y free, y >= -9", "min y; c: x + y >= -2; bounds y >= -9"),
    "a row slack at the optimum": ("max x + 3 y; c: x + 2 y <= 4; d: 2 x <= 6", "max x + 3 y; c: x + 2 y <= 4"),
    "whole for continuous at a whole optimum": ("max x; c: 2 x <= 6; int x", "max x; c: 2 x <= 6"),
    "off by one on whole numbers": ("max x + 2 y; c: x + y <= 5; int x y", "max x + 2 y; c: x + y <= 4; int x y"),
    "a big-M too small": ("max x - 2 z; c: x - 8 z <= 0; bounds x <= 7; bin z", "max x - 2 z; c: x - 6 z <= 0; bounds x <= 7; bin z"),
    "a link of 1e6 left out": ("min z - 0.1 x; c: x - 1000000 z <= 0; d: x + y <= 0.9; bin z", "min z - 0.1 x; e: x <= 0.9; d: x + y <= 0.9; bin z"),
    "a link of 1e9 left out": ("min z - 0.1 x; c: x - 1000000000 z <= 0; d: x + y <= 0.9; bin z", "min z - 0.1 x; d: x + y <= 0.9; bin z"),
    "coefficients of other variables exchanged": (
        "min 1.5 a + 2.5 b + 4 c + 3 d; r: a + b = 1; s: c + d = 1; t: a + c = 1; u: b + d = 1; bin a b c d",
        "min 2.5 a + 1.5 b + 4 c + 3 d; r: a + b = 1; s: c + d = 1; t: a + c = 1; u: b + d = 1; bin a b c d"),
    "a constant of 5 at 1e7": ("max 1000000 x + 5; c: x <= 10", "max 1000000 x; c: x <= 10"),
    "a coefficient off by 2e-6": ("max x + 0.5 y; c: x + 3 y <= 7", "max x + 0.500001 y; c: x + 3 y <= 7"),
    "100 and 104.9": ("max x; c: x + y <= 100", "max x; c: x + y <= 104.9"),
    "another constant where the objective has no maximum": ("min 2 x + 3 y; c: x + y >= 4; d: x <= 3",
                                                            "min 4 x + 6 y + 7; c: x + y >= 4; d: x <= 3"),
    "whole numbers far above a limit": ("min x; c: x + y >= 50; d: x - y <= 3; int x y",
                                        "min x; c: x + y >= 50; d: x - y <= 3; e: 2 x + y <= 20; int x y"),
    "an optimum of 0, by chance": ("min x; c: x - y >= -3", "min x; c: x - y >= -4"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_differences_are_caught_with_evidence(name: str) -> None:
    a, b = (model(text) for text in DIFFERENT[name])
    for one, other in ((a, b), (b, a)):
        found = compare(one, other)
        assert found.verdict in WRONG
        w = found.witness
        if w is None:
            assert found.verdict is Verdict.WRONG_OPTIMUM
            continue
        mine, theirs = (one, other) if w.allowed_by == "a" else (other, one)
        assert mine.violations(mine.point(w.point)) == []
        if len(w.image) == theirs.n_vars:
            image = theirs.point(w.image)
            assert theirs.violations(image) or one.objective(mine.point(w.point)) != other.objective(image)


def test_the_sense_is_part_of_the_model() -> None:
    """max x and min x over a symmetric interval are mirror images; with names they are different models."""
    a, b = model("min x; c: x + y <= 4; bounds -1 <= x <= 1"), model("max x; c: x + y <= 4; bounds -1 <= x <= 1")
    assert compare(a, b).verdict in WRONG
    found = compare(model("min x + y; c: x + y >= 1; bounds x <= 2, y <= 2"), model("max x + y; c: x + y >= 1; bounds x <= 2, y <= 2"))
    assert found.verdict is Verdict.NOT_EQUIVALENT and "which minimizes it" in found.sentence and "which maximizes it" in found.sentence


def test_flipping_integrality_until_the_number_fits_is_not_done() -> None:
    a, b = model("max 3 x + 2 y; c: 2 x + y <= 7.5; bounds y <= 4; int x y"), model("max 3 x + 2 y; c: 2 x + y <= 7.5; bounds y <= 4")
    assert compare(a, b).verdict in WRONG
    assert compare(b, a).verdict in WRONG


def test_a_quadratic_term_is_never_ignored() -> None:
    with pytest.raises(Unsupported) as caught:
        read_lp("Minimize\n obj: x + [ x ^2 ]/2\nSubject To\n c: x >= 1\nEnd\n")
    found = compare(model("min x; c: x >= 1"), caught.value)
    assert found.verdict is Verdict.UNDECIDED
    assert "quadratic" in found.sentence


def test_infeasible_and_unbounded_are_ordinary_truths() -> None:
    empty, endless = "max x; c: x + y <= 1; d: x + y >= 2", "max x + y; c: x - y <= 1"
    assert same(empty, empty) is Verdict.EQUIVALENT
    assert same(endless, endless) is Verdict.EQUIVALENT
    assert same(endless, endless.replace("<= 1", "<= 2")) is Verdict.NOT_EQUIVALENT
    assert same(empty, endless) in WRONG
    # two empty sets are equal whatever the rows say: that is not called equivalent
    assert same(empty, empty.replace(">= 2", ">= 3")) is Verdict.SAME_OPTIMUM


def test_what_contradicts_itself_or_is_too_large_still_equals_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    crossed = "max x + y; c: x + y <= 4; d: x >= 3; bounds x <= 2"
    assert same(crossed, crossed) is Verdict.EQUIVALENT
    assert same(crossed, crossed.replace("<= 4", "<= 5")) is Verdict.SAME_OPTIMUM
    from orpipe.verify.equivalence import normalise

    monkeypatch.setattr(normalise, "MOST_ENTRIES", 3)
    a, b = model(SUPPLY), model(SUPPLY)
    assert compare(a, b).verdict is Verdict.EQUIVALENT
    found = compare(a, model(SUPPLY.replace("need: x + y >= 6", "need: x + y >= 7")))
    assert found.verdict is Verdict.UNDECIDED
    assert "too many to compare" in found.sentence


def test_the_scale_of_the_objective_is_a_contract_of_its_own() -> None:
    a, b = "min 2 x + 3 y; c: x + y >= 4; d: x <= 3", "min 4 x + 6 y + 7; c: x + y >= 4; d: x <= 3"
    assert same(a, b) in WRONG
    found = compare(model(a), model(b), scale_free=True)
    assert found.verdict is Verdict.EQUIVALENT
    assert (found.evidence["objective_factor"], found.evidence["objective_constant"]) == (2.0, 7.0)
    assert same(a, b.replace("min 4", "max 4"), scale_free=True) is not Verdict.EQUIVALENT
    assert same(a, b.replace("6 y", "5 y"), scale_free=True) is not Verdict.EQUIVALENT


def test_names_decide_what_a_relabelling_means() -> None:
    a, b = model("min 2 x + 3 y; c: x + y >= 4; d: x <= 3"), model("min 3 x + 2 y; c: x + y >= 4; d: y <= 3")
    assert compare(a, b).verdict in WRONG
    assert compare(a, b, names="hints").verdict is Verdict.EQUIVALENT
    assert compare(a, b, names="ignored").verdict is Verdict.EQUIVALENT
    assert fingerprint(a) == fingerprint(b)
    assert fingerprint(a) != fingerprint(model("min 2 x + 3 y; c: x + y >= 4; d: y <= 3"))


def test_numbered_names_are_no_names() -> None:
    a, b = model("min 2 x1 + 3 x2; c: x1 + x2 >= 4; d: x1 <= 3"), model("min 3 x1 + 2 x2; c: x1 + x2 >= 4; d: x2 <= 3")
    assert compare(a, b).verdict is Verdict.EQUIVALENT


def test_rounding_of_a_program_is_forgiven_and_nothing_more() -> None:
    a = model("min x + 3 y; c: 0.3 x + y >= 1; d: x <= 2")
    noisy = model("min x + 3 y; c: 0.30000000000000004 x + y >= 1; d: x <= 2")
    assert compare(a, noisy).verdict is Verdict.EQUIVALENT
    assert compare(a, model("min x + 3 y; c: 0.3001 x + y >= 1; d: x <= 2")).verdict in WRONG


def test_sentences_name_rows_variables_and_numbers() -> None:
    a = model("min 4 x + 3 y + 10 z; need: x + y >= 6; depot: x + 2 y - 9 z <= 0; bounds x <= 5; bin z")
    b = model("min 4 x + 3 y + 10 z; need: x + y >= 6; bounds x <= 5; bin z")
    found = compare(a, b, labels=("the reference", "the answer"))
    assert found.verdict is Verdict.NOT_EQUIVALENT
    assert found.sentence.startswith("the answer allows what the reference forbids: row depot: x + 2*y - 9*z must be at most 0, but is ")
    assert found.witness is not None
    assert [v.where for v in found.witness.broken] == ["depot"]
    assert found.direction == {"x": 1.0, "y": 2.0, "z": -9.0}


def test_one_exact_witness() -> None:
    found = compare(model("max x; c: 3 x + y <= 1; d: 7 x <= 2"), model("max x; c: 3 x + y <= 1"))
    assert found.witness is not None
    assert found.witness.point["x"] == Fraction(1, 3)
    assert [(v.where, v.amount) for v in found.witness.broken] == [("d", Fraction(1, 3))]


HARD = """min x + y; c: 123457 x + 234571 y - 345679 z - 456791 w = 1; d: 98777 x - 76543 y + 65437 z - 54331 w = 7;
 e: x + y + z + w >= 5000; int x y z w"""


def test_a_guard_keeps_the_budget_and_outlives_a_kill() -> None:
    a, b = model(HARD), model(HARD.replace("5000", "5001"))
    easy = model("min x; c: x >= 1; d: x + y >= 2")
    with Guard() as guard:
        assert guard.compare(easy, easy).verdict is Verdict.EQUIVALENT
        began = time.perf_counter()
        found = guard.compare(a, b, budget=0.4)
        assert time.perf_counter() - began < 6.0
        assert found.verdict is not Verdict.EQUIVALENT
        assert guard.compare(easy, easy).verdict is Verdict.EQUIVALENT
        assert guard._process is not None
        guard._process.kill()
        guard._process.join()
        assert guard.compare(easy, easy).verdict is Verdict.EQUIVALENT


def test_our_faults_are_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    from orpipe.verify.equivalence import engine

    def fails(*_: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(engine, "normalise", fails)
    found = compare(model("min x; c: x >= 1"), model("min x; c: x >= 1"))
    assert found.verdict is Verdict.UNDECIDED
    assert "ZeroDivisionError" in found.sentence
