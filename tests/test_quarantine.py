"""A solver that lies: no label, both results kept, the problem beside the dataset with the command that shows it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from orpipe import console
from orpipe import solve as solving
from orpipe.build import quarantine, run
from orpipe.build.audit import audit
from orpipe.build.plan import Slot
from orpipe.build.slot import Made, make_slot
from orpipe.build.write import file_hashes, write_json
from orpipe.cli import app
from orpipe.config import Recipe
from orpipe.instances import draw
from orpipe.mps import read_mps
from orpipe.solve import Result
from orpipe.testing.solver_suite import model
from orpipe.verify.sandbox import Pool

RECIPE = Recipe(sft=3, cpt=0, families=("knapsack",), levels=(1,), tasks=("formulate",), interfaces=("text",), validation=0, test=0)


class Liar:
    """CP-SAT, that adds 1 to the first objective it is asked for."""

    def __init__(self) -> None:
        self.honest, self.asked = solving.solver("cpsat"), 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.honest, name)

    def solve(self, *arguments: Any) -> Result:
        self.asked += 1
        found = self.honest.solve(*arguments)
        return replace(found, objective=(found.objective or 0) + (self.asked == 1))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three slots made in this process, the first draw of them with a lie."""
    liar, real = Liar(), solving.solver

    def results(recipe: Recipe, slots: list[Slot], *_: object) -> Iterator[Made]:
        with monkeypatch.context() as patch, Pool() as pool:  # no program is run
            patch.setattr(solving, "solver", lambda name: liar if name == "cpsat" else real(name))
            made = [make_slot(recipe, slot, pool) for slot in slots]
        yield from made

    monkeypatch.setattr(run, "_results", results)
    summary = run.run(RECIPE, tmp_path / "out")
    assert summary.rejected == {"solve: disagreement": 1} and summary.accepted == 3 and liar.asked >= 4
    return tmp_path / "out"


def refused(folder: Path) -> dict[str, Any]:
    (row,) = pq.read_table(folder / "rejected").to_pylist()
    return row


def test_it_is_kept_whole_and_shown_again(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = refused(folder)
    told = json.loads(row["detail"])
    first, second = told["results"]
    assert (row["stage"], row["reason"], first["name"], second["name"]) == ("solve", "disagreement", "highs", "cpsat")
    assert second["objective"] == first["objective"] + 1 and "mps" not in told
    problem = draw(row["family"], row["level"], RECIPE.seed, row["seed"]).problem
    assert problem.difference(read_mps((folder / told["problem"]).read_text())) is None
    assert told["reproduce"] == f"orpipe solve {told['problem']} --solvers highs,cpsat --certify"
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", [*told["reproduce"].split(), "--json"])
    assert console.run(app, "orpipe") == 0  # the solver is honest again
    (found,) = json.loads(capsys.readouterr().out)
    assert found["objective"] == first["objective"] and found["certificate"] == "exact" and len(found["solvers"]) == 2


def test_manifest_card_and_audit_count_it(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    path = json.loads(refused(folder)["detail"])["problem"]
    assert manifest["disagreements"] == 1 and path in manifest["sha256"]
    assert "- disagreements: 1 draw, on which" in (folder / "README.md").read_text()
    with Pool() as pool:
        found = audit(folder, pool=pool)
        assert found.faults == [] and found.checks["disagreement quarantined"] == 1
        text = (folder / path).read_text()
        for change in (lambda: (folder / path).unlink(), lambda: (folder / path).write_text("NAME x\n"),
                       lambda: (folder / path).write_text(text) and (folder / "quarantine" / "stray.mps").write_text(text)):
            change()
            manifest["sha256"] = file_hashes(folder)
            write_json(folder / "manifest.json", manifest)
            assert {f.check for f in audit(folder, pool=pool).faults} == {"disagreement quarantined"}


def test_what_mps_cannot_say_is_told() -> None:
    told = quarantine.detail("one", model(["1/3"], [(1, {0: 1}, 2)]), "two optima", [])
    assert "no finite decimal" in json.loads(told)["no_mps"] and "mps" not in json.loads(told)
    assert quarantine.fault(Path(), {"detail": told}) == "no solver's result is kept"


def test_a_row_that_points_elsewhere_is_a_fault() -> None:
    problem = model([1], [(1, {0: 1}, 2)])
    result = solving.settle(solving.solver("highs"), problem)
    told = json.loads(quarantine.detail("one", problem, "two optima", [result]))
    for path in ("../one.mps", "quarantine/../one.mps", "one.mps"):
        assert "no file of quarantine/" in (quarantine.fault(Path(), {"detail": json.dumps(told | {"problem": path})}) or "")
    assert np.isfinite(told["results"][0]["objective"])
