"""The bench measures what it says; how fast is no matter here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from orpipe.errors import UsageError
from orpipe.families import families
from orpipe.render.dialects import dialects
from orpipe.solve import Refusal
from orpipe.testing import bench, measure
from orpipe.testing.bench import END, START, Report


@pytest.fixture(scope="module")
def report() -> Report:
    return bench.measured(2, quick=True)


def numbers(node: Any, at: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from numbers(value, f"{at}/{key}")
    elif isinstance(node, list):
        for k, value in enumerate(node):
            yield from numbers(value, f"{at}/{k}")
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield at, float(node)


@pytest.mark.slow
def test_a_quick_run_gives_every_figure(report: Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench, "measured", lambda *_, **__: report)
    ran = CliRunner().invoke(bench.app, ["--quick", "--json", "--out", str(tmp_path / "bench.json")])
    assert ran.exit_code == 0, ran.output
    content = json.loads(ran.stdout)
    assert content == json.loads((tmp_path / "bench.json").read_text("utf-8"))
    assert list(content) == ["orpipe", "python", "machine", "cores", "workers", "quick", "steps", "instances", "products", "replays",
                             "ten_thousand", "corpus"]
    may_be_zero = ("/products/warming_seconds", "/products/closing_seconds", "/products/rejected/", "/products/all_processes_mb", "/corpus/")
    found = dict(numbers(content))
    wrong = {at: value for at, value in found.items() if value < 0 or (value == 0 and not at.startswith(may_be_zero))}
    assert len(found) > 50 and wrong == {}
    assert [s["case"] for s in content["steps"]] == ["transportation 30x30", "facility location 5x20", "knapsack 50"]
    assert [(s["variables"], s["rows"]) for s in content["steps"]] == [(900, 60), (105, 25), (50, 1)]
    assert list(content["replays"]) == sorted(dialects())
    assert (content["products"]["examples"], content["products"]["documents"], content["instances"]["attempted"]) == (12, 3, 3)
    shares = content["products"]["discrimination"]
    assert 0 < shares["headline"] <= shares["suite"] <= 1


@pytest.mark.slow
def test_tables_and_readme_show_the_report(report: Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown = [cell for _, header, rows in bench.tables(report) for row in rows for cell in row if len(row) == len(header)]
    assert f"{report.steps[0].ground_ms:.2f}" in shown and f"{report.products.examples_per_second:.1f}" in shown
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{START}\nold\n{END}\nafter\n", "utf-8")
    monkeypatch.setattr(bench, "measured", lambda *_, **__: report)
    monkeypatch.setattr(bench, "checkout", lambda name: tmp_path / name)
    ran = CliRunner().invoke(bench.app, ["--update-readme"])
    assert ran.exit_code == 0, ran.output
    text = readme.read_text("utf-8")
    assert text == f"before\n{bench.readme_block(report)}\nafter\n" and "old" not in text
    assert f"{report.instances.per_second:.1f} /s" in text and "extrapolated from a run of 12 examples" in text
    assert CliRunner().invoke(bench.app, ["--update-readme"]).exit_code == 0  # the block found again


def test_a_readme_without_its_block_is_refused_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("nothing marked", "utf-8")
    monkeypatch.setattr(bench, "checkout", lambda name: tmp_path / name)
    monkeypatch.setattr(bench, "measured", lambda *_, **__: pytest.fail("measured"))
    ran = CliRunner().invoke(bench.app, ["--update-readme"])
    assert isinstance(ran.exception, UsageError) and "holds 0 blocks" in str(ran.exception)
    ran = CliRunner().invoke(bench.app, ["--update-readme", "--quick"])
    assert isinstance(ran.exception, UsageError) and "--quick" in str(ran.exception)


def test_the_extrapolation_counts_warming_and_closing_once(report_like: measure.Products) -> None:
    # 100 s for the first 250 of 1000, then 750 at 5/s, then 10 s; 10,000 are 9750 at 5/s
    assert measure.seconds_for(10_000, report_like) == 100 + 9750 / 5 + 10
    short = replace(report_like, warming_seconds=0.0, closing_seconds=0.0)
    assert measure.seconds_for(10_000, short) == 2000


@pytest.fixture
def report_like() -> measure.Products:
    return measure.Products(1000, 250, 800, 250, 250, 1.0, {}, 260.0, 100.0, 10.0, 5.0, 6.0, 4.0, {}, 100.0, 200.0)


def test_an_attempt_names_its_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = measure.attempt("knapsack", 1, 0)
    assert kept.refused == "" and min(kept.sample_ms, kept.ground_ms, kept.label_ms) > 0
    monkeypatch.setattr(measure, "label", lambda *_, **__: Refusal("limit", "cut short", ()))
    assert measure.attempt("knapsack", 1, 0).refused == "solve: limit"

    def nothing(*_: object) -> dict[str, Any]:
        raise measure.Rejected("no luck")

    monkeypatch.setattr(type(families["knapsack"]), "sample", nothing)
    assert measure.attempt("knapsack", 1, 0).refused == "sample: no luck"


def test_memory_of_a_child_counts(tmp_path: Path) -> None:
    if not sys.platform.startswith("linux"):
        assert measure.tree_mb(1) == 0.0
        return
    program = "import sys; held = bytearray(64 << 20); print(len(held), flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"67108864\n"
        alone, both = measure.tree_mb(child.pid), measure.tree_mb(child.pid)
        assert 64 < alone < 200 and abs(alone - both) < 20
        child.communicate(b"")


def test_the_bare_call_solves() -> None:
    from orpipe.instances import golden
    from orpipe_solvers._bare import highs_objective

    assert highs_objective(golden("transportation").problem) == 5980
    assert highs_objective(golden("knapsack").problem) == 1790
