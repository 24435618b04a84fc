"""`orpipe verify`: the command, its verdict file, and being killed at any point."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from orpipe.errors import UsageError
from orpipe.verify.answers import open_answers
from orpipe.verify.journal import Journal, read_rows
from orpipe.verify.judge import Judge
from orpipe.verify.run import judge_file

SHARED = Path(__file__).resolve().parents[3] / "shared"
ROOT = Path(__file__).resolve().parents[2]
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared output files are not here")


def program(k: int) -> str:
    """minimise 2 x, x >= k: the optimum is 2 k."""
    return f"```python\nimport pulp\nm = pulp.LpProblem()\nm += 2 * pulp.LpVariable('x', {k})\nm.solve()\n```"


def write(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def orpipe(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "orpipe.cli", *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False,
                          cwd=more.pop("cwd", ROOT), env=ENV, **more)


ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "solvers")])}


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    records = [{"index": k, "response": program(k + (k == 2)), "answer": 2 * k} for k in range(6)]
    records += [{"index": 6, "response": "no idea", "answer": 3}, {"index": 7, "response": program(1), "answer": "?"}]
    return write(tmp_path / "answers.jsonl", records)


def test_the_command_judges_reports_and_exits_with_0(answers: Path, tmp_path: Path) -> None:
    out, md, js = tmp_path / "deep" / "v.jsonl", tmp_path / "r.md", tmp_path / "r.json"
    done = orpipe("verify", answers, "--out", out, "--workers", 2, "--timeout", 60, "--report", md)
    assert done.returncode == 0, done.stderr
    rows = {r["index"]: r for r in read_rows(out)}
    assert {k: r["verdict"] for k, r in rows.items()} == {
        **dict.fromkeys((0, 1, 3, 4, 5), "SAME_OPTIMUM"), 2: "WRONG_OPTIMUM", 6: "ERROR", 7: "UNDECIDED"}
    for name in ("index", "sample", "verdict", "reason", "failure", "objective", "status", "label", "library", "n_vars", "n_rows", "seconds",
                 "isolation", "versions", "extraction", "solves"):
        assert name in rows[0]
    assert "pass@1" in done.stdout and "71.4%" in done.stdout and "relative 1e-06" in done.stdout and "full" in done.stdout
    assert "response: field 'response'" in done.stderr and "label: field 'answer'" in done.stderr
    assert "| undecided | 1 |" in md.read_text()
    again = orpipe("verify", answers, "--out", out, "--workers", 1, "--timeout", 60, "--json", "--report", js)
    assert again.returncode == 0 and "8 rows already" in again.stderr
    report = json.loads(again.stdout)
    assert (report["answers"], report["undecided"], report["pass"]["1"]["problems"]) == (8, 1, 7)
    assert report["published_rules"]["relative_1e-6"]["value"] == pytest.approx(5 / 7) and json.loads(js.read_text()) == report
    assert len(list(read_rows(out))) == 8


@pytest.mark.parametrize(("arguments", "words"), [
    (["--tolerance", "2"], "relative"), (["--timeout", "0"], "timeout"), (["--preset", "nl4op"], "did you mean 'nl4opt'"),
    (["--response-field", "respnse"], "did you mean 'response'"), (["--k", "1,x"], "--k"), (["--report", "r.txt"], ".md or .json"),
    (["--labels", "none.jsonl"], "does not exist"), (["--memory", "1"], "memory"),
])
def test_misuse_is_one_line_and_exit_2(answers: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    done = orpipe("verify", answers, "--out", tmp_path / "v.jsonl", *arguments)
    assert done.returncode == 2 and words in done.stderr.splitlines()[-1], done.stderr
    assert "Traceback" not in done.stderr


def test_a_verdict_file_of_something_else_is_refused_in_one_line(answers: Path, tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    assert orpipe("verify", answers, "--out", out, "--timeout", 60, "--limit", 2).returncode == 0
    before = out.read_bytes()
    other = write(tmp_path / "other.jsonl", [{"index": 0, "response": program(1), "answer": 2}])
    for arguments, words in (([answers, "--limit", 3], "limit was 2"), ([answers, "--limit", 2, "--strict"], "policy was"),
                             ([other], "another input")):
        done = orpipe("verify", *arguments, "--out", out, "--timeout", 60)
        assert done.returncode == 2 and words in done.stderr.splitlines()[-1] and "name another --out" in done.stderr
    assert out.read_bytes() == before
    foreign = tmp_path / "notes.txt"
    foreign.write_text("mine\n")
    done = orpipe("verify", answers, "--out", foreign)
    assert done.returncode == 2 and "no verdict file of ours" in done.stderr and foreign.read_text() == "mine\n"
    done = orpipe("verify", other, "--out", out, "--timeout", 60, "--overwrite")
    assert done.returncode == 0 and [r["index"] for r in read_rows(out)] == [0]


def test_killed_at_any_point_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    count, rng = 60, random.Random(7)
    source = write(tmp_path / "a.jsonl", [{"id": f"p{k // 2}", "response": program(k), "label": 2 * k} for k in range(count)])
    out = tmp_path / "v.jsonl"
    command = [sys.executable, "-m", "orpipe.cli", "verify", str(source), "--out", str(out), "--workers", "2", "--timeout", "60"]
    kills = 0
    for attempt in range(12):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=ENV)
        have = out.read_bytes().count(b"\n") if out.exists() else 0
        wanted = have + rng.randrange(1, 16) if attempt < 4 else count + 1
        while process.poll() is None and (not out.exists() or out.read_bytes().count(b"\n") < wanted):
            time.sleep(0.01)
        if process.poll() is None:
            process.send_signal(rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
            kills += 1
        _, errors = process.communicate(timeout=300)
        if process.returncode == 0:
            break
        with out.open("ab") as file:  # and a row that was torn while being written
            file.write(rng.choice((b"", b'{"index": "p1", "verd', b"\0\0\0", b'{"position": 3}\n')))
    assert process.returncode == 0, errors
    rows = list(read_rows(out))
    assert kills == 4 and out.read_bytes().count(b"\n") == count
    assert sorted(r["position"] for r in rows) == list(range(count))
    assert Counter((r["index"], r["sample"]) for r in rows) == Counter((f"p{k // 2}", k % 2) for k in range(count))
    assert {r["verdict"] for r in rows} == {"SAME_OPTIMUM"}


def test_a_folder_that_is_made_for_the_verdicts_is_told_and_one_that_is_there_is_not(tmp_path: Path) -> None:
    source, out = write(tmp_path / "a.jsonl", [{"response": "no program", "label": 1}]), tmp_path / "new" / "deep" / "v.jsonl"
    command = [sys.executable, "-m", "orpipe.cli", "verify", str(source), "--out", str(out), "--json"]
    told = f"folder '{out.parent}' is made for the verdicts"
    for first in (True, False):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, cwd=ROOT, env=ENV)
        assert (told in done.stderr.splitlines()) is first and out.is_file(), done.stderr


def test_a_broken_record_keeps_what_was_judged(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", [{"response": program(k), "label": 2 * k} for k in range(3)])
    source.write_text(source.read_text() + "[1]\n")
    with Judge(timeout=60) as judge:
        with pytest.raises(UsageError, match="record 4"):
            judge_file(judge, open_answers_of(source, 3), tmp_path / "v.jsonl")
        rows = list(read_rows(tmp_path / "v.jsonl"))
    assert all(r["verdict"] == "SAME_OPTIMUM" for r in rows)


def open_answers_of(source: Path, readable: int) -> Any:
    """open_answers looks at the first records; here at the readable ones."""
    whole = source.read_text()
    source.write_text("".join(line + "\n" for line in whole.splitlines()[:readable]))
    answers = open_answers(source)
    source.write_text(whole)
    return answers


# ---- the journal alone


def line(position: int) -> str:
    return json.dumps({"position": position, "verdict": "ERROR", "index": position}) + "\n"


def test_the_journal_cuts_a_torn_end_and_knows_what_is_done(tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    with Journal(out, {"input": "a"}) as journal:
        for k in (0, 5, 9):
            journal.append(k, line(k))
        with pytest.raises(ValueError, match="its row already"):
            journal.append(5, line(5))
    for torn in (b'{"posi', line(3).encode()[:-1], b"\0" * 100, line(5).encode() + line(6).encode()):
        whole = out.read_bytes()
        out.write_bytes(whole + torn)
        with Journal(out, {"input": "a"}) as journal:
            assert journal.resumed == 3 and [k for k in range(12) if journal.done(k)] == [0, 5, 9]
        assert out.read_bytes() == whole


def test_a_folder_or_a_pipe_is_no_place_for_verdicts(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place, words in ((tmp_path, "is a folder"), (tmp_path / "pipe", "is no plain file")):
        with pytest.raises(UsageError, match=words):
            Journal(place, {})
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"] and (tmp_path / "pipe").is_fifo()


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    with Journal(tmp_path / "v.jsonl", {}), pytest.raises(UsageError, match="another run"):
        Journal(tmp_path / "v.jsonl", {})
    Journal(tmp_path / "v.jsonl", {}).close()


# ---- memory


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.slow
def test_memory_stays_flat_over_10_000_answers(tmp_path: Path) -> None:
    """Every hundredth answer is a program with a model; the others fail before the sandbox, in the same machinery."""
    def records() -> Iterator[dict[str, Any]]:
        for k in range(10_000):
            text = program(k) if k % 100 == 0 else "x" * 5000 if k % 2 else f"```python\nimport pulp\nm = pulp.LpProblem({k}\n```"
            yield {"index": k // 4, "question": "q" * 2000, "response": text, "label": 2 * k}

    with (tmp_path / "a.jsonl").open("w") as file:
        file.writelines(json.dumps(r) + "\n" for r in records())
    seen: list[float] = []
    count = 0

    def progress(_: bool) -> None:
        nonlocal count
        count += 1
        if count % 1000 == 0:
            seen.append(resident_mb())

    with Judge(workers=2, timeout=60) as judge:
        tally = judge_file(judge, open_answers(tmp_path / "a.jsonl"), tmp_path / "v.jsonl", progress=progress)
    report = tally.report()
    assert (report.total.answers, report.total.problems) == (10_000, 2500)
    assert report.total.verdicts == {"ERROR": 9900, "SAME_OPTIMUM": 100}
    assert len(seen) == 10 and seen[-1] - seen[1] < 12, seen


# ---- the recorded outputs


@needs_shared
def test_the_82_coptpy_answers_agree_with_their_recorded_objectives(tmp_path: Path) -> None:
    pytest.importorskip("coptpy")
    source = SHARED / "outputs" / "nl4opt_8b_coptpy.jsonl"
    recorded = {r["index"]: r for r in map(json.loads, source.read_text().splitlines())}
    with Judge(workers=2, timeout=120) as judge:
        judge_file(judge, open_answers(source, preset="nl4opt"), tmp_path / "v.jsonl")
    rows = list(read_rows(tmp_path / "v.jsonl"))
    assert len(rows) == 82
    for row in rows:
        was = recorded[row["index"]]["recorded_objective"]
        if was is None:  # the program fails there as here: Var < Var
            assert (row["verdict"], row["exception"]) == ("ERROR", "TypeError")
        elif was == "No Best Solution":
            assert row["status"] in ("infeasible", "unbounded")
        else:
            assert row["objective"] == pytest.approx(float(was), rel=1e-9), row
    assert Counter(r["verdict"] for r in rows) == {"SAME_OPTIMUM": 66, "WRONG_OPTIMUM": 14, "ERROR": 2}


@needs_shared
def test_the_50_gurobipy_answers_are_solved(tmp_path: Path) -> None:
    """They have no labels.  One has a power constraint; the files of 22 are shown in their questions."""
    pytest.importorskip("gurobipy")
    with Judge(workers=2, timeout=120) as judge:
        judge_file(judge, open_answers(SHARED / "outputs" / "gurobipy_answers.jsonl"), tmp_path / "v.jsonl")
    rows = {r["index"]: r for r in read_rows(tmp_path / "v.jsonl")}
    assert Counter(r["verdict"] for r in rows.values()) == {"UNDECIDED": 50}
    assert Counter(r["failure"] for r in rows.values()) == {"no label": 49, "unsupported": 1} and "POW" in rows[8]["reason"]
    assert Counter(r["status"] for r in rows.values()) == {"optimal": 45, "infeasible": 4, "": 1}
    # as Gurobi printed them when it ran these programs itself
    for index, objective in {0: 0.915686274509804, 44: 12806.666666666668, 20: 1.0, 192: 6581.818181818181, 188: 0.0}.items():
        assert rows[index]["objective"] == pytest.approx(objective, rel=1e-9)
