"""Figures worked by hand, intervals, breakdowns; nothing undecided counts."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orpipe.verify.report import Tally, bootstrap, estimate, pass_at_k, wilson


def row(index: Any, verdict: str = "SAME_OPTIMUM", **more: Any) -> dict[str, Any]:
    passed = verdict in ("SAME_OPTIMUM", "EQUIVALENT")
    rules = {} if verdict == "UNDECIDED" else {"relative_1e-6": passed, "rounded_5%": passed or more.pop("near", False)}
    return {"index": index, "verdict": verdict, "failure": "", "rules": rules, "isolation": "full", "seconds": 0.5} | more


WRONG = "WRONG_OPTIMUM"


@pytest.mark.parametrize(("n", "c", "k", "value"), [
    (1, 1, 1, 1.0), (1, 0, 1, 0.0), (4, 1, 1, 0.25), (4, 1, 2, 0.5), (4, 2, 2, 5 / 6), (4, 0, 4, 0.0), (4, 1, 4, 1.0), (10, 3, 5, 11 / 12),
])
def test_pass_at_k_by_hand(n: int, c: int, k: int, value: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(value)


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_draws_with_a_right_one(case: tuple[int, int, int]) -> None:
    n, c, k = case
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_wilson_by_hand() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_the_bootstrap_is_seeded_and_sane() -> None:
    values = Counter({0.0: 40, 0.5: 20, 1.0: 40})
    low, high = bootstrap(values, 1)
    assert (low, high) == bootstrap(values, 1) and 0.38 < low < 0.45 < 0.55 < high < 0.62
    assert bootstrap(values, 2) != (low, high)
    assert bootstrap(Counter({1.0: 1}), 0) == (0.0, 1.0)


def test_estimates_choose_their_interval() -> None:
    single = estimate([(1, 1)] * 8 + [(1, 0)] * 2, 1)
    assert single is not None and (single.method, single.value, single.problems) == ("wilson", 0.8, 10)
    several = estimate([(4, 1), (4, 2), (2, 2)], 1)
    assert several is not None and (several.method, several.value) == ("bootstrap", pytest.approx((0.25 + 0.5 + 1) / 3))
    at_4 = estimate([(4, 1), (4, 0), (2, 2)], 4)
    assert at_4 is not None and (at_4.value, at_4.problems) == (0.5, 2)
    assert estimate([(2, 1)], 3) is None and estimate([(0, 0)], 1) is None


def tally(*rows: dict[str, Any]) -> Tally:
    found = Tally()
    for r in rows:
        found.add(r)
    return found


def test_undecided_answers_count_neither_way_and_are_shown() -> None:
    report = tally(row(1), row(2, WRONG, near=True), row(3, "UNDECIDED", failure="licence"), row(4, "ERROR", failure="timeout")).report()
    total = report.total
    assert (total.answers, total.problems, total.undecided) == (4, 4, 1)
    assert total.passes[1].value == pytest.approx(1 / 3) and total.if_undecided_wrong == 0.25
    assert total.verdicts == {"SAME_OPTIMUM": 1, "WRONG_OPTIMUM": 1, "UNDECIDED": 1, "ERROR": 1}
    assert total.failures == {"licence": 1, "timeout": 1}
    assert total.rules["relative_1e-6"].value == pytest.approx(1 / 3) and total.rules["rounded_5%"].value == pytest.approx(2 / 3)


def test_samples_of_a_problem_belong_together() -> None:
    rows = [row(p, "SAME_OPTIMUM" if s < right else WRONG, benchmark=b) for b, p, right in (("a", 1, 1), ("a", 2, 0), ("b", 1, 5)) for s in range(5)]
    report = tally(*rows).report()
    assert (report.total.problems, report.total.answers) == (3, 15)
    assert report.total.passes[1].value == pytest.approx((0.2 + 0 + 1) / 3)
    assert list(report.total.passes) == [1, 5] and report.total.passes[5].value == pytest.approx(2 / 3)
    assert [(p.name, p.problems, p.passes[1].value) for p in report.by["benchmark"]] == [("a", 2, pytest.approx(0.1)), ("b", 1, 1.0)]
    assert list(tally(*rows).report(ks=(2, 3)).total.passes) == [1, 2, 3]


def test_failures_tell_exceptions_apart_and_breakdowns_are_there() -> None:
    report = tally(
        row(1, "ERROR", failure="exception", exception="KeyError", library="pulp", family="diet", level="1"),
        row(2, "ERROR", failure="exception", exception="TypeError", library="pulp", family="diet", level="2"),
        row(3, failure="exception after the solve", exception="TypeError", library="pyomo", family="tsp", level="1"),
    ).report()
    assert report.total.failures == {"exception: KeyError": 1, "exception: TypeError": 1, "exception after the solve: TypeError": 1}
    assert {d: [p.name for p in parts] for d, parts in report.by.items()} == {
        "family": ["diet", "tsp"], "level": ["1", "2"], "library": ["pulp", "pyomo"]}


def test_labels_not_understood_are_listed() -> None:
    report = tally(row(7, "UNDECIDED", failure="label not understood", label="12,5")).report()
    assert report.labels_unread == {"12,5": "7"}
    assert report.total.passes == {} and ("labels not understood", ["label", "index"], [["12,5", "7"]]) in report.tables()


def test_record_and_markdown_say_the_same() -> None:
    rows = row(1, benchmark="a|b"), row(2, WRONG, benchmark="a|b", failure="other optimum")
    report = tally(*rows).report(settings={"tolerance": "relative 1e-06, strict"})
    record = json.loads(json.dumps(report.record()))
    assert record["pass"]["1"]["value"] == 0.5 and record["settings"] == {"tolerance": "relative 1e-06, strict"}
    assert record["by"]["benchmark"]["a|b"]["answers"] == 2 and record["isolation"] == {"full": 2}
    text = report.markdown()
    assert "| pass@1 | 50.0% [9.5, 90.5] over 2 problems (wilson) |" in text and "| tolerance | relative 1e-06, strict |" in text
    assert "| a\\|b | 2 | 2 | 0 | 50.0% [9.5, 90.5] |" in text and "## Failures" in text


def test_nothing_at_all() -> None:
    report = tally().report()
    assert report.total.answers == 0 and report.total.passes == {} and "0, to 0 different problems" in report.markdown()


def test_tiers_and_judges_stand_apart() -> None:
    rows = [row(1, "EQUIVALENT", optimum="SAME_OPTIMUM", method="isomorphic"), row(2, "EQUIVALENT", optimum="UNDECIDED", method="containment"),
            row(3, "NOT_EQUIVALENT", optimum="SAME_OPTIMUM", method="point", redraw="differs: set 2"),
            row(4, "SAME_OPTIMUM", optimum="SAME_OPTIMUM", method="optimum", redraw="redraw(3)")]
    report = tally(*rows).report()
    found = {name: (e[1].value, e[1].problems) for name, e in report.total.judges.items()}
    assert found == {"the optimum alone": (1.0, 3), "equivalence": (0.75, 4), "proved equivalent only": (0.5, 4)}
    assert report.total.tiers == {"EQUIVALENT: isomorphic": 1, "EQUIVALENT: containment": 1, "NOT_EQUIVALENT: point": 1, "SAME_OPTIMUM: optimum": 1}
    assert report.record()["redraws"] == {"differs": 1, "redraw(3)": 1}
    text = report.markdown()
    assert "| pass@1 by the optimum alone | 100.0% [43.9, 100.0] |" in text and "| EQUIVALENT: isomorphic | 1 |" in text
    assert tally(row(1)).report().total.judges == {}  # nothing had a reference
