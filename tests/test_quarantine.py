"""A solver that lies: no label, both results kept, the problem beside the dataset with the command that shows it again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hub_server import Hub
from orpipe import console, disagreements
from orpipe import solve as solving
from orpipe.build import quarantine, run
from orpipe.build.audit import audit
from orpipe.build.hub import push
from orpipe.build.plan import Slot
from orpipe.build.schema import CONFIGS
from orpipe.build.slot import Made, make_slot
from orpipe.build.write import file_hashes, write_json
from orpipe.cli import app
from orpipe.config import Recipe
from orpipe.ground import ground
from orpipe.instances import draw
from orpipe.mps import read_mps, write_mps
from orpipe.mutate import mutants
from orpipe.problem import Problem
from orpipe.proof.digest import digest
from orpipe.solve import Result
from orpipe.suites import Shelf, shelf
from orpipe.testing.solver_suite import model
from orpipe.verify.sandbox import Pool

RECIPE = Recipe(sft=3, cpt=0, families=("knapsack",), levels=(1,), tasks=("formulate",), interfaces=("text",), validation=0, test=0)


class Liar:
    """CP-SAT, that adds 1 to objectives: of the first problems, each once, met where the words about them begin as in `lies`."""

    def __init__(self, lies: Mapping[str, int]) -> None:
        self.honest, self.asked, self.left = solving.solver("cpsat"), 0, dict(lies)
        self.told: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.honest, name)

    def solve(self, problem: Problem, *arguments: Any) -> Result:
        self.asked += 1
        found = self.honest.solve(problem, *arguments)
        where = next((words for words, left in self.left.items() if left and disagreements._ABOUT.get().startswith(words)), None)
        if where is None or digest(problem) in self.told or found.objective is None:
            return found
        self.told.add(digest(problem))
        self.left[where] -= 1
        return replace(found, objective=found.objective + 1)


def believe(liar: Liar, patch: pytest.MonkeyPatch) -> None:
    real = solving.solver
    patch.setattr(solving, "solver", lambda name: liar if name == "cpsat" else real(name))


def made_with(liar: Liar, recipe: Recipe, out: Path, monkeypatch: pytest.MonkeyPatch) -> run.Summary:
    """The slots made in this process, and all that is labelled for them by the liar."""

    def results(recipe: Recipe, slots: list[Slot], work: Path, *_: object) -> Iterator[Made]:
        with monkeypatch.context() as patch, Pool() as pool:
            believe(liar, patch)
            patch.setattr(shelf, "_built", shelf._built.__wrapped__)  # a suite made with a lie is for this test alone
            suites = Shelf(work, recipe.seed, recipe.proof_nodes)
            made = [make_slot(recipe, slot, pool, shelf=suites) for slot in slots]
        yield from made

    monkeypatch.setattr(run, "_results", results)
    return run.run(recipe, out)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three slots, the first draw of them with a lie."""
    liar = Liar({"": 1})
    summary = made_with(liar, RECIPE, tmp_path / "out", monkeypatch)
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
    assert "- disagreements: 1 problem (instances, mis-modellings and hidden data sets), on which" in (folder / "README.md").read_text()
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


def kept(folder: Path) -> list[dict[str, Any]]:
    return [row | json.loads(row["detail"]) for row in pq.read_table(folder / "rejected").to_pylist()]


LIES = {"derived from knapsack-L1-s0-00000 with ": 1, "derived from": 1, "a data set": 3}
MORE = RECIPE.model_copy(update={"sft": 2, "cpt": 1, "preference": 1, "tasks": ("diagnose",), "dialects": ("highspy",)})


@pytest.fixture(scope="module")
def lied_to(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two slots: CP-SAT lies of two problems derived from the first instance, and of three met while its suite is chosen."""
    liar, out = Liar(LIES), tmp_path_factory.mktemp("lied") / "out"
    with pytest.MonkeyPatch.context() as patch:
        summary = made_with(liar, MORE, out, patch)
    assert summary.rejected == {"derived: disagreement": 2, "suites: disagreement": 3} and summary.accepted == 2 == summary.attempted
    return out


def test_mutants_and_hidden_data_on_which_solvers_disagree_are_kept(lied_to: Path) -> None:
    rows = kept(lied_to)
    assert [(r["stage"], r["reason"], r["family"]) for r in rows] == [
        *[("derived", "disagreement", "knapsack")] * 2, *[("suites", "disagreement", "knapsack")] * 3]
    for row in rows:
        first, second = row["results"]
        assert second["objective"] == first["objective"] + 1 and row["detail"].endswith(f"; cpsat: optimal {second['objective']:.10g}")
        assert row["reproduce"] == f"orpipe solve {row['problem']} --solvers highs,cpsat --certify"
        honest = solving.label(read_mps((lied_to / row["problem"]).read_text()))
        assert isinstance(honest, solving.Label) and honest.objective == first["objective"]
    assert len({r["problem"] for r in rows}) == 5 == len(list((lied_to / "quarantine").iterdir()))
    assert rows[0]["detail"].startswith("derived from knapsack-L1-s0-00000") and rows[0]["problem"].endswith("-00000-1.mps")
    assert any(r["detail"].startswith("a data set of knapsack (standard)") for r in rows[2:])


def test_the_mutant_that_was_kept_is_the_one_its_row_names(lied_to: Path) -> None:
    row = next(r for r in kept(lied_to) if r["detail"].startswith("derived from knapsack-L1-s0-00000 with "))
    instance = draw("knapsack", row["level"], MORE.seed, row["seed"])
    name = row["detail"].partition(" with ")[2].partition(": highs")[0]
    (mutant,) = [m for m in mutants(instance.linear) if str(m) == name]
    assert ground(mutant.model, instance.data).difference(read_mps((lied_to / row["problem"]).read_text())) is None


def test_the_same_lies_leave_the_same_bytes(lied_to: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_with(Liar(LIES), MORE, tmp_path / "out", monkeypatch)
    assert file_hashes(tmp_path / "out") == file_hashes(lied_to)


def doctored(folder: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """The rows of `rejected` changed, each detail as an object, and every hash made to fit."""
    (path,) = (folder / "rejected").glob("*.parquet")
    table = pq.read_table(path)
    rows = [row | {"detail": json.loads(row["detail"])} for row in table.to_pylist()]
    change(rows)
    pq.write_table(pa.Table.from_pylist([row | {"detail": json.dumps(row["detail"])} for row in rows], schema=table.schema), path)


def another_objective(rows: list[dict[str, Any]]) -> None:
    rows[0]["detail"]["results"][1]["objective"] += 1


def no_results(rows: list[dict[str, Any]]) -> None:
    rows[1]["detail"]["results"] = []


def another_status(rows: list[dict[str, Any]]) -> None:
    rows[3]["detail"]["results"][0] |= {"status": "infeasible", "objective": None}


def another_command(rows: list[dict[str, Any]]) -> None:
    rows[4]["detail"]["reproduce"] += " --json"


def no_object(rows: list[dict[str, Any]]) -> None:
    rows[2]["detail"] = None


def one_less(rows: list[dict[str, Any]]) -> None:
    rows.pop()


@pytest.mark.parametrize(("change", "checks"), [
    (another_objective, {"disagreement quarantined"}), (no_results, {"disagreement quarantined"}), (another_status, {"disagreement quarantined"}),
    (another_command, {"disagreement quarantined"}), (no_object, {"readable", "disagreement quarantined"}),
    (one_less, {"disagreement quarantined", "disagreements counted", "row count"}),
])
def test_a_doctored_row_is_found(lied_to: Path, tmp_path: Path, change: Callable[[list[dict[str, Any]]], None], checks: set[str]) -> None:
    folder = tmp_path / "out"
    shutil.copytree(lied_to, folder)
    doctored(folder, change)
    assert checks == faults(folder)


def test_a_changed_number_in_a_kept_problem_is_found(lied_to: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(lied_to, folder)
    assert faults(folder) == set()
    path = folder / kept(folder)[2]["problem"]
    problem = read_mps(path.read_text())
    path.write_text(write_mps(replace(problem, offset=problem.offset + 1)))
    assert faults(folder) == {"disagreement quarantined"}


def faults(folder: Path) -> set[str]:
    """What the audit finds, with a manifest that states the folder's hashes as they are."""
    manifest = json.loads((folder / "manifest.json").read_text()) | {"sha256": file_hashes(folder)}
    write_json(folder / "manifest.json", manifest)
    with Pool() as pool:
        return {f.check for f in audit(folder, pool=pool).faults}


# ---- on a hub


def test_all_configs_pushed_are_loaded_again_and_audited_equal(lied_to: Path, tmp_path: Path) -> None:
    with Hub() as hub:
        report = push(lied_to, "me/data", token=hub.token, endpoint=hub.url)
        held = hub.files("me/data")
    counts = json.loads((lied_to / "manifest.json").read_text())["counts"]
    assert {(s.config, s.split): s.remote for s in report.splits} == {
        (config, split): rows for config, splits in counts.items() for split, rows in splits.items() if rows}
    assert {s.config for s in report.splits} == set(CONFIGS) and sum(name.startswith("quarantine/") for name in held) == 5
    for name, content in held.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with Pool() as pool:
        here, there = audit(lied_to, pool=pool), audit(tmp_path, pool=pool)
    assert there.faults == here.faults == [] and there.undecided == here.undecided and there.checks == here.checks
    assert there.checks["disagreement quarantined"] == 5 and there.checks["suite label"] and there.checks["rejected differs"]
    (tmp_path / "quarantine" / "stray.mps").write_text("NAME x\n")
    assert faults(tmp_path) == {"disagreement quarantined"}
