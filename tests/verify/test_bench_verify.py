"""The bench of the judge: its programs are right, its verdicts are checked, its figures are measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from orpipe.errors import UsageError
from orpipe.testing import bench_verify
from orpipe.testing.bench_verify import END, PROGRAMS, START, Figure, measure, memory, programs


def test_programs_differ_and_are_the_same_on_every_call() -> None:
    made = programs("pulp", 6)
    assert made == programs("pulp", 6) and len({text for text, _ in made}) == 6 and len({optimum for _, optimum in made}) == 6
    assert [optimum for _, optimum in programs("coptpy", 6)] == [optimum for _, optimum in made]
    assert set(PROGRAMS) == {"pyomo", "pulp", "ortools", "gurobipy", "coptpy"}


def test_a_small_measurement() -> None:
    figure = measure("pulp", 8, 2, 2)
    assert figure.judge > 0 and figure.plain > 0 and figure.times == pytest.approx(figure.judge / figure.plain, rel=0.2)
    assert figure.isolation and figure.cpu_ms > 0


def test_a_wrong_judge_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [(text, optimum + 1) for text, optimum in programs("pulp", 8)]
    monkeypatch.setattr(bench_verify, "programs", lambda *_: wrong)
    with pytest.raises(UsageError, match="WRONG_OPTIMUM"):
        measure("pulp", 8, 2, 1)


def test_memory_stays_flat_over_programs_that_build_models() -> None:
    steps = list(memory(150, 2))
    assert [s.answers for s in steps] == list(range(15, 151, 15))
    assert all(s.all_mb > s.judge_mb > 20 for s in steps)
    assert steps[-1].judge_mb - steps[2].judge_mb < 4, steps


def test_the_tables_are_rewritten_between_their_marks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("README.md", "docs/judging.md"):
        (tmp_path / name).write_text(f"before\n{START}\nold\n{END}\nafter\n")
    monkeypatch.setattr(bench_verify, "checkout", lambda name: tmp_path / name)
    monkeypatch.setattr(bench_verify, "measure", lambda library, count, plain, workers: Figure(
        library, count, workers, 123.4, 10.0, 12.3, 15.5, 0.5, "full"))
    for _ in range(2):  # the marks are found again
        assert CliRunner().invoke(bench_verify.app, ["--update-readme"]).exit_code == 0
    for name in ("README.md", "docs/judging.md"):
        text = (tmp_path / name).read_text()
        assert text.startswith(f"before\n{START}\n") and text.endswith(f"{END}\nafter\n") and "old" not in text
        assert all(f"| {library} | 123 | 10.0 | 12.3 x | 15.5 |" in text for library in PROGRAMS)
    ran = CliRunner().invoke(bench_verify.app, ["--update-readme", "--quick"])
    assert isinstance(ran.exception, UsageError) and "--quick" in str(ran.exception)
    (tmp_path / "README.md").write_text("nothing marked")
    monkeypatch.setattr(bench_verify, "measure", lambda *_: pytest.fail("measured"))
    ran = CliRunner().invoke(bench_verify.app, ["--update-readme"])
    assert isinstance(ran.exception, UsageError) and "README.md holds 0 blocks" in str(ran.exception)


def test_the_repository_has_a_place_for_the_tables() -> None:
    for name in ("README.md", "docs/judging.md"):
        assert bench_verify.checkout(name).read_text("utf-8").count(START) == 1
