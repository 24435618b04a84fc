"""The bench of suites prints what it says."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from orpipe.testing.bench_suites import HEADER, app


def test_one_family() -> None:
    done = CliRunner().invoke(app, ["--families", "knapsack", "--draws", "1", "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    one, total = (dict(zip(said["header"], row, strict=True)) for row in said["rows"])
    assert said["header"] == HEADER and one["structure"] == "knapsack" and total["structure"] == "all"
    assert one["killed"] + one["harmless"] + one["survivors"] == one["mutants"] and one["suite"] == "100.0%"
    assert 0 < said["first"]["1"] < said["first"]["3"] <= said["first"]["8"] == 1
    assert 0 < float(one["headline"].rstrip("%")) <= 100 and 0 < float(one["held out"].rstrip("%")) <= 100
