"""When an optimum is the label's, and how the end of a run is read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from orpipe.errors import UsageError
from orpipe.verify.capture import Captured
from orpipe.verify.sandbox import Run
from orpipe.verify.taxonomy import Failure, read_ending
from orpipe.verify.truth import Truth
from orpipe.verify.verdict import Policy, Solved, Verdict, decide, published

LOOSE, STRICT = Policy(), Policy(strict=True)


def optimal(value: float, maximize: bool = False, size: float = 1.0, **more: Any) -> Solved:
    return Solved("optimal", maximize, value, size=size, checked="exact", **more)


def verdict(solved: Solved, label: Any, policy: Policy = LOOSE) -> Verdict:
    return decide(solved, Truth.of(label), policy).verdict


@pytest.mark.parametrize(("value", "label", "same"), [
    (100.0, 100, True), (100.00001, 100, True), (100.0002, 100, False), (104.9, 100, False), (1e7 + 5, 1e7, True), (1e7 + 20, 1e7, False),
    (0.0, 0, True), (1e-7, 0, True), (1e-5, 0, False), (-162, "-162", True), (28.571428571, 29, False), (1e9, "1,000,000,000 EUR", True),
    (110, [100, 110], True), (105, [100, 110], False), (0.125, "12.5%", True), (12.5, "12.5%", True),
])
def test_tolerances_are_relative_and_a_truth_of_zero_is_ordinary(value: float, label: Any, same: bool) -> None:
    for policy in (LOOSE, STRICT):
        assert verdict(optimal(value), label, policy) is (Verdict.SAME_OPTIMUM if same else Verdict.WRONG_OPTIMUM)


def test_small_objectives_are_told_apart_by_the_size_of_their_terms() -> None:
    assert verdict(optimal(2e-7, size=1e-6), 1e-7) is Verdict.WRONG_OPTIMUM
    assert verdict(optimal(2e-7, size=5.0), 1e-7) is Verdict.SAME_OPTIMUM  # terms of size 5 cancel: noise


def test_a_printed_label_stands_for_what_rounds_to_it_unless_strict() -> None:
    assert verdict(optimal(16.6666667), 16.67) is Verdict.SAME_OPTIMUM
    assert verdict(optimal(16.6666667), 16.67, STRICT) is Verdict.WRONG_OPTIMUM
    assert verdict(optimal(16.68), 16.67) is Verdict.WRONG_OPTIMUM
    assert verdict(optimal(16.66), 16.7) is Verdict.WRONG_OPTIMUM  # one decimal is a number like any other
    assert "2 decimals" in decide(optimal(16.6666667), Truth.of(16.67), LOOSE).reason


def test_max_f_is_min_minus_f() -> None:
    found = decide(optimal(-34, maximize=False), Truth.of(34), LOOSE)
    assert found.verdict is Verdict.SAME_OPTIMUM and "read as min -f" in found.reason
    known = Truth.optimum(34, maximize=True)
    assert decide(optimal(-34, maximize=False), known, LOOSE).verdict is Verdict.SAME_OPTIMUM
    assert decide(optimal(-34, maximize=True), known, LOOSE).verdict is Verdict.WRONG_OPTIMUM


@pytest.mark.parametrize(("status", "label", "expected", "failure"), [
    ("infeasible", "infeasible", Verdict.SAME_OPTIMUM, ""), ("unbounded", "unbounded", Verdict.SAME_OPTIMUM, ""),
    ("unbounded", "infeasible", Verdict.WRONG_OPTIMUM, "unbounded"), ("infeasible", "No Best Solution", Verdict.SAME_OPTIMUM, ""),
    ("unbounded", -99999, Verdict.SAME_OPTIMUM, ""), ("infeasible", 7, Verdict.WRONG_OPTIMUM, "infeasible"),
    ("infeasible", 0, Verdict.WRONG_OPTIMUM, "infeasible"),
])
def test_infeasible_and_unbounded_are_ordinary_truths(status: str, label: Any, expected: Verdict, failure: str) -> None:
    found = decide(Solved(status, checked="exact"), Truth.of(label), LOOSE)
    assert (found.verdict, found.failure) == (expected, failure)


def test_an_optimum_where_there_is_none() -> None:
    found = decide(optimal(5), Truth.of("infeasible"), LOOSE)
    assert (found.verdict, found.failure) == (Verdict.WRONG_OPTIMUM, Failure.HAS_OPTIMUM)


@pytest.mark.parametrize(("label", "failure"), [(None, Failure.NO_TRUTH), ("some of it", Failure.TRUTH_UNREAD)])
def test_without_a_label_nothing_is_right(label: Any, failure: Failure) -> None:
    for solved in (optimal(5), Solved("infeasible")):
        found = decide(solved, Truth.of(label), LOOSE)
        assert (found.verdict, found.failure) == (Verdict.UNDECIDED, failure)


def test_our_own_failure_is_undecided_and_hints_never_change_a_verdict() -> None:
    ours = decide(Solved("", failure=Failure.LIMIT, detail="no proof within 20 s"), Truth.of(3), LOOSE)
    assert (ours.verdict, ours.failure, ours.reason) == (Verdict.UNDECIDED, Failure.LIMIT, "no proof within 20 s")
    hinted = decide(optimal(5, hint=Failure.SENSE), Truth.of(3), LOOSE)
    assert (hinted.verdict, hinted.failure) == (Verdict.WRONG_OPTIMUM, Failure.SENSE)
    assert decide(optimal(3, hint=Failure.SENSE), Truth.of(3), LOOSE).failure == ""


@pytest.mark.parametrize(("value", "label", "relative", "rounded"), [
    (100, 104.9, False, True), (100, 106, False, False), (0.3, 0, False, True), (0.6, 0, False, False), (1e7, 1e7 + 5, True, True),
    (2.4, 2.0, False, True), (3.0, 3.0, True, True),
])
def test_published_rules(value: float, label: float, relative: bool, rounded: bool) -> None:
    assert published(optimal(value), Truth.of(label)) == {"relative_1e-6": relative, "rounded_5%": rounded}


def test_published_rules_of_statuses_and_of_nothing() -> None:
    assert all(published(Solved("infeasible"), Truth.of("No Best Solution")).values())
    assert not any(published(Solved(""), Truth.of(3)).values())


@pytest.mark.parametrize("tolerance", [-1e-9, 1.0, math.nan, math.inf])
def test_a_tolerance_that_is_none(tolerance: float) -> None:
    with pytest.raises(UsageError, match="relative"):
        Policy(tolerance)


# ---- endings

CAPTURED = Captured.of("pulp", "pulp", maximize=False, offset=0, columns=["x"], rows=[], cost=[1], lower=[0], upper=[1], integer=[False],
                       row_lower=[], row_upper=[], indptr=[0], indices=np.zeros(0), data=np.zeros(0))


def raised(name: str, message: str = "", captured: Captured | None = None) -> Run:
    return Run("exception", message, exception=name, captured=captured)


@pytest.mark.parametrize(("run", "library", "files", "blame", "failure"), [
    (Run("no model", "ended"), "", (), "answer", Failure.NO_MODEL),
    (Run("timeout", "not finished after 2 s"), "", (), "answer", Failure.TIMEOUT),
    (Run("memory", "ended by SIGKILL"), "", (), "answer", Failure.MEMORY),
    (Run("output", "printed more"), "", (), "answer", Failure.OUTPUT),
    (Run("output", "printed more", captured=CAPTURED), "", (), "answer", Failure.OUTPUT),
    (Run("crash", "ended by SIGSEGV"), "", (), "answer", Failure.CRASH),
    (Run("crash", "ended by SIGSYS"), "", (), "answer", Failure.FORBIDDEN),
    (Run("crash", "wrote to the result channel"), "", (), "answer", Failure.FORBIDDEN),
    (Run("crash", "the captured model cannot be read; the program wrote to its channel"), "", (), "answer", Failure.FORBIDDEN),
    (Run("unsupported", "pulp: special ordered sets"), "", (), "ours", Failure.UNSUPPORTED),
    (Run("sandbox", "lost"), "", (), "ours", Failure.SANDBOX),
    (Run("sandbox", "cannot be run here: coptpy"), "", (), "ours", Failure.LIBRARY),
    (raised("KeyError", "'demand'"), "pulp", ("data.json",), "answer", Failure.MISSING_KEY),
    (raised("KeyError", "'demand'"), "pulp", (), "answer", Failure.EXCEPTION),
    (raised("FileNotFoundError", "data.csv"), "pulp", (), "answer", Failure.MISSING_FILE),
    (raised("PermissionError", "[Errno 1]"), "pulp", (), "answer", Failure.FORBIDDEN),
    (raised("PermissionError", "[Errno 1]", CAPTURED), "pulp", (), "answer", Failure.FORBIDDEN),
    (raised("OSError", "[Errno 38] Function not implemented"), "pulp", (), "answer", Failure.FORBIDDEN),
    (raised("SyntaxError", "invalid syntax"), "pulp", (), "answer", Failure.SYNTAX),
    (raised("ModuleNotFoundError", "No module named 'xpress'"), "", (), "ours", Failure.LIBRARY),
    (raised("ModuleNotFoundError", "No module named 'pulp'"), "", (), "answer", Failure.EXCEPTION),  # it is here: a pretence
    (raised("ModuleNotFoundError", "No module named 'my_helpers'"), "", (), "answer", Failure.EXCEPTION),
    (raised("GurobiError", "Model too large for size-limited license"), "gurobipy", (), "ours", Failure.LICENCE),
    (raised("GurobiError", "Model too large for size-limited license", CAPTURED), "gurobipy", (), "none", Failure.NONE),
    (raised("RuntimeError", "license"), "pulp", (), "answer", Failure.EXCEPTION),
    (raised("ValueError", "license"), "gurobipy", (), "answer", Failure.EXCEPTION),
    (raised("TypeError", "x", CAPTURED), "pulp", (), "none", Failure.LATE_EXCEPTION),
    (Run("timeout", "late", captured=CAPTURED), "", (), "none", Failure.LATE_TIMEOUT),
    (Run("ok", captured=CAPTURED), "", (), "none", Failure.NONE),
])
def test_the_end_of_a_run_is_read(run: Run, library: str, files: tuple[str, ...], blame: str, failure: Failure) -> None:
    ending = read_ending(run, library, files)
    assert (ending.blame, ending.failure) == (blame, failure)
    assert ending.reason or blame == "none"


@pytest.mark.parametrize("run", [raised("TypeError", "x", CAPTURED), Run("timeout", "late", captured=CAPTURED)])
def test_strict_wants_programs_that_end_well(run: Run) -> None:
    assert read_ending(run, strict=True).blame == "answer"
