"""`orpipe solve`: what is said of good files, bad files, limits and disagreements."""

from __future__ import annotations

import gzip
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from built import start
from orpipe import console, settle_apart
from orpipe import settle_file as module
from orpipe.cli import app
from orpipe.lp import read_lp
from orpipe.mps import write_mps
from orpipe.settle_file import settle_problem
from orpipe.solve import Outcome, Result, solver
from orpipe.testing.solver_suite import cases

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


def test_the_folder_of_out_is_made_before_anything_is_solved(folder: Path, solve: Solve) -> None:
    out = folder / "more" / "and more" / "found.json"
    code, said = solve(folder / "a.lp", "--out", out)
    assert code == 0 and f"folder '{out.parent}' is made for the findings\n" in said
    assert [f["outcome"] for f in json.loads(out.read_text())] == ["optimal"] and list(out.parent.iterdir()) == [out]


def test_out_may_be_a_link_or_a_device_and_stays_one(folder: Path, solve: Solve) -> None:
    link, kept = folder / "link.json", folder / "sub" / "kept.json"
    kept.write_text("[]")
    link.symlink_to(kept)
    assert solve(folder / "a.lp", "--out", link)[0] == 0
    assert link.is_symlink() and [f["outcome"] for f in json.loads(kept.read_text())] == ["optimal"]
    os.mkfifo(pipe := folder / "pipe")
    heard = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert solve(folder / "a.lp", "--out", pipe)[0] == 0
    assert pipe.is_fifo() and json.loads(os.read(heard, 1 << 16))[0]["outcome"] == "optimal"
    os.close(heard)


@pytest.mark.parametrize(("out", "code", "words"), [
    ("sub", 2, "is a folder; name a file in it"), ("a.lp/found.json", 3, "check the path, its rights"),
    (f"{'x' * 300}.json", 3, "File name too long")])
def test_an_out_that_cannot_be_written_is_told_before_anything_is_solved(
    folder: Path, solve: Solve, monkeypatch: pytest.MonkeyPatch, out: str, code: int, words: str
) -> None:
    monkeypatch.setattr(settle_apart.Apart, "settle", lambda self, path: pytest.fail("solved first"))
    found, said = solve(folder, "--out", folder / out)
    assert found == code and words in said and said.count("\n") == 1
    assert (folder / "a.lp").read_text() == LP


def test_a_stop_keeps_what_is_done(folder: Path, solve: Solve, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, out = settle_apart.Apart.settle, folder / "found.json"

    def stopped(self: settle_apart.Apart, path: Path) -> settle_apart.Settled:
        if path.name == "b.lp.gz":
            raise KeyboardInterrupt
        return honest(self, path)

    monkeypatch.setattr(settle_apart.Apart, "settle", stopped)
    code, said = solve(folder, "--out", out)
    assert code == 130 and f"orpipe: stopped; 1 of 2 files are done and kept in '{out}'\n" in said and "optimal" in said
    assert [f["file"] for f in json.loads(out.read_text())] == [str(folder / "a.lp")]
    before = out.read_text()
    code, said = solve(folder / "sub", "--out", out)
    assert (code, said) == (130, "orpipe: stopped; 0 of 1 files are done\n") and out.read_text() == before


def test_a_stop_is_heard_while_a_solver_is_busy_and_leaves_nothing_running(tmp_path: Path) -> None:
    """HiGHS does not look up until its time limit, SCIP takes the signal for itself, CBC is a program of its own."""
    (tmp_path / "hard.mps").write_text(write_mps(next(c for c in cases() if c.name == "time_limit").problem))
    running = [start("solve", tmp_path / "hard.mps", "--solvers", name, "--time-limit", 300, "--json", start_new_session=True)
               for name in ("highs", "scip", "pulp:CBC")]
    try:
        for process in running:
            busy = awaited(lambda p=process: [pid for pid in below(p.pid) if seconds_used(pid) > 1.0])
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=20)
            assert (process.returncode, json.loads(out), err) == (130, [], "orpipe: stopped; 0 of 1 files are done\n")
            awaited(lambda b=busy: not any(Path(f"/proc/{pid}").exists() for pid in b))
    finally:
        for process in running:
            process.kill()


def test_a_crash_costs_one_file(folder: Path, solve: Solve, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = settle_apart.settle_file

    def crash(path: Path, *given: Any, **more: Any) -> settle_apart.Settled:
        if path.name == "a.lp":
            os.kill(os.getpid(), signal.SIGKILL)
        return honest(path, *given, **more)

    monkeypatch.setattr(settle_apart, "settle_file", crash)
    code, found = solve(folder, "--json")
    assert code == 1 and [f["outcome"] for f in found] == ["error", "optimal"]
    assert found[0]["message"] == "the solving process was ended by SIGKILL; try other --solvers"


def awaited(look: Callable[[], Any]) -> Any:
    for _ in range(600):
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("waited 30 seconds for nothing")


def below(pid: int) -> list[int]:
    """Children and theirs."""
    try:
        own = [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [p for child in own for p in (child, *below(child))]


def seconds_used(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
