"""`orpipe solve`: what is said of good files, bad files, limits and disagreements."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orpipe import console
from orpipe import settle_file as module
from orpipe.cli import app
from orpipe.lp import read_lp
from orpipe.settle_file import settle_problem
from orpipe.solve import Outcome, Result, solver

LP = "Minimize\n 2 x + y\nSubject To\n need: x + y >= 3\nBounds\n y <= 2\nEnd\n"
MILP = "Maximize\n 3 a + 2 b\nSubject To\n room: 2 a + 2 b <= 5\nGeneral\n a b\nEnd\n"
SAMPLE = Path(__file__).resolve().parents[2] / "shared" / "benchmarks" / "bench4opt_sample"
Solve = Callable[..., tuple[int, Any]]


@pytest.fixture
def solve(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Solve:
    def run(*arguments: object) -> tuple[int, Any]:
        monkeypatch.setattr("sys.argv", ["orpipe", "solve", *map(str, arguments)])
        code = console.run(app, "orpipe")
        said = capsys.readouterr()
        return code, json.loads(said.out) if "--json" in arguments and code < 2 else said.out + said.err

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.lp").write_text(LP)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.lp.gz").write_bytes(gzip.compress(MILP.encode()))
    (tmp_path / "notes.txt").write_text("no model")
    return tmp_path


def test_a_folder_is_solved_and_certified(folder: Path, solve: Solve) -> None:
    code, found = solve(folder, "--certify", "--json", "--out", folder / "found.json")
    assert code == 0 and found == json.loads((folder / "found.json").read_text())
    assert [(f["file"], f["outcome"], f["objective"], f["objective_exact"], f["certificate"], f["unique"], f["message"]) for f in found] == [
        (str(folder / "a.lp"), "optimal", 4.0, "4", "exact", "unique", ""),
        (str(folder / "sub" / "b.lp.gz"), "optimal", 6.0, "6", "exact", "unique", "cpsat cannot take it: unbounded columns")]
    assert [s["name"] for s in found[0]["solvers"]] == ["highs", "glop"] and [s["name"] for s in found[1]["solvers"]] == ["highs", "scip"]
    for claim in (s for f in found for s in f["solvers"]):
        assert claim["outcome"] == "optimal" and claim["seconds"] > 0 and claim["version"] and set(claim) == {
            "name", "version", "outcome", "objective", "seconds"}
    code, table = solve(folder)
    assert code == 0 and "highs, s" in table and "exact-point+agreement" in table


def test_bad_files_have_one_line_each_and_the_others_go_on(folder: Path, solve: Solve) -> None:
    (folder / "bad.lp").write_text("Minimize\n x\nSubject To\n x >= \nEnd\n")
    (folder / "bad.lp.gz").write_bytes(b"not gzip")
    (folder / "cut.mps.gz").write_bytes(gzip.compress(b"NAME x" * 100)[:-9])
    (folder / "latin.mps").write_bytes(b"NAME x\nROWS\n N gr\xf6\xdfe\n")
    (folder / "empty").mkdir()
    code, found = solve(folder, folder / "absent.lp", folder / "notes.txt", folder / "empty", folder / "a.lp", "--json")
    messages = {Path(f["file"]).name: f["message"] for f in found if f["outcome"] == "unreadable"}
    assert code == 1 and len(found) == 9 and sum(f["outcome"] == "optimal" for f in found) == 2
    for name, words in {"bad.lp": "LP line 4: expected a number", "bad.lp.gz": "not gzipped", "cut.mps.gz": "damaged gzip",
                        "latin.mps": "line 3: not UTF-8",
                        "absent.lp": "No such file", "notes.txt": "no model file", "empty": "no model file"}.items():
        assert words in messages[name] and "\n" not in messages[name], messages[name]


def test_an_unknown_solver_is_misuse(folder: Path, solve: Solve) -> None:
    code, said = solve(folder, "--solvers", "highs,scipp")
    assert code == 2 and "did you mean 'scip'" in said
    code, said = solve(folder, "--solvers", ",")
    assert code == 2 and "names none" in said


def test_one_solver_alone_is_a_claim_until_it_is_certified() -> None:
    problem = read_lp(MILP)
    alone = settle_problem(problem, ["highs"])
    assert (alone.outcome, alone.objective, alone.certificate, alone.decided) == ("claimed", 6.0, None, False) and "--certify" in alone.message
    proved = settle_problem(problem, ["highs"], certified=True)
    assert (proved.outcome, proved.objective_exact, proved.certificate) == ("optimal", "6", "exact")
    assert settle_problem(read_lp(LP), ["highs"]).certificate == "exact"  # the vertex proves itself
    assert settle_problem(problem, ["glop"]).outcome == "unsupported"


class Lying:
    """A solver that reports another optimum, or another outcome, than it found."""

    def __init__(self, name: str, **change: Any) -> None:
        self.honest, self.change = solver(name), change

    def __getattr__(self, name: str) -> Any:
        return getattr(self.honest, name)

    def solve(self, *arguments: Any) -> Result:
        return replace(self.honest.solve(*arguments), **self.change)


@pytest.mark.parametrize("change", [{"objective": 9.0}, {"outcome": Outcome.INFEASIBLE, "objective": None, "point": None}])
def test_a_liar_is_a_disagreement_and_the_proof_says_who(monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]) -> None:
    monkeypatch.setattr(module, "solver", lambda name: Lying(name, **change) if name == "scip" else solver(name))
    found = settle_problem(read_lp(MILP), ["highs", "scip"], certified=True)
    assert (found.outcome, found.objective_exact, found.certificate) == ("disagreement", None, None)
    assert "highs: optimal 6" in found.message and "scip:" in found.message and "an exact proof confirms highs" in found.message
    alone = settle_problem(read_lp(MILP), ["scip"], certified=True)
    assert alone.outcome in ("inexact", "disagreement") and not alone.decided


def test_the_best_incumbent_is_told_and_is_no_optimum() -> None:
    problem = read_lp(MILP)
    stopped = {"outcome": Outcome.LIMIT_WITH_INCUMBENT, "objective": 5.0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "solver", lambda name: Lying(name, **stopped))
        found = settle_problem(problem, ["highs", "scip"])
    assert (found.outcome, found.objective, found.objective_exact, found.certificate) == ("limit_with_incumbent", 5.0, None, None)


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="the Bench4Opt sample is not here")
def test_the_sample_of_bench4opt(solve: Solve) -> None:
    code, found = solve(SAMPLE, "--certify", "--time-limit", 2, "--json")
    said = {Path(f["file"]).stem: f for f in found}
    assert code == 1 and len(said) == 12
    assert {k for k, f in said.items() if f["outcome"] == "infeasible" and f["certificate"] == "exact"} == {"0", "16", "80", "88"}
    assert {k for k, f in said.items() if f["outcome"] == "optimal"} == {"8", "40", "48", "64", "72"}
    assert all("quadratic" in said[k]["message"] for k in ("32", "56"))
    assert (said["24"]["outcome"], said["24"]["certificate"]) == ("unbounded", "exact")  # a whole point far along a ray
