"""The bench of the judge: its programs are right, its verdicts are checked, its figures are measured."""

from __future__ import annotations

import pytest

from orpipe.errors import UsageError
from orpipe.testing import bench_verify
from orpipe.testing.bench_verify import PROGRAMS, measure, programs


def test_programs_differ_and_are_the_same_on_every_call() -> None:
    made = programs("pulp", 6)
    assert made == programs("pulp", 6) and len({text for text, _ in made}) == 6 and len({optimum for _, optimum in made}) == 6
    assert [optimum for _, optimum in programs("coptpy", 6)] == [optimum for _, optimum in made]
    assert set(PROGRAMS) == {"pyomo", "pulp", "ortools", "gurobipy", "coptpy"}


def test_a_small_measurement() -> None:
    figure = measure("pulp", 8, 2, 2)
    assert figure.judge > 0 and figure.plain > 0 and figure.times == pytest.approx(figure.judge / figure.plain, rel=0.2)
    assert figure.isolation


def test_a_wrong_judge_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [(text, optimum + 1) for text, optimum in programs("pulp", 8)]
    monkeypatch.setattr(bench_verify, "programs", lambda *_: wrong)
    with pytest.raises(UsageError, match="WRONG_OPTIMUM"):
        measure("pulp", 8, 2, 1)
