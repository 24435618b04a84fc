"""A comparison and its re-draws end with their budget, keep what was reached, and say in a plain sentence what cannot be read."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from orpipe.verify import solving
from orpipe.verify.against import Purse, Reference, weigh
from orpipe.verify.answers import Answer
from orpipe.verify.capture import Captured
from orpipe.verify.frames import Frames, pack
from orpipe.verify.judge import Judge
from orpipe.verify.sandbox import Pool
from orpipe.verify.solving import UNREAD, Solvers, _Process
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth
from orpipe.verify.verdict import Judgement, Policy, Solved, Verdict
from tests.verify.test_redraw import ALONE, INLINE, LOAD, MODEL, SEARCH, answer, in_files

LP = "maximize\n obj: 3 x + 2 y\nsubject to\n c: x + y <= 4\nbounds\n x <= 3\nend\n"
PROGRAM = """
import pulp
m = pulp.LpProblem("a", pulp.LpMaximize)
x, y = pulp.LpVariable("x", 0, 3), pulp.LpVariable("y", 0)
m += 3 * x + 2 * y
m += x + y <= 4, "c"
m.solve()
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(workers=1, timeout=60, redraw=3) as made:
        made.warm("pulp")
        yield made


@pytest.fixture(scope="module")
def captured() -> Captured:
    with Pool() as pool:
        found = pool.run(PROGRAM).captured
    assert found is not None
    return found


def test_a_purse_counts_what_is_spent() -> None:
    purse = Purse(2.0)
    purse.spent += 1.5
    assert purse.left == 0.5
    purse.spent += 1.5
    assert purse.left == 0.0


def test_redraws_end_with_the_budget_and_what_was_reached_stands() -> None:
    """On any other data the program would sleep for as long as it may run, three times."""
    sleepy = LOAD + "import time\nif capacity != 500: time.sleep(60)\n" + MODEL
    later = LOAD + "import time\nif capacity != 500: time.sleep(0.7)\n" + MODEL.replace("capacity\n", "500\n")
    with Judge(workers=1, timeout=60, budget=1.5, redraw=3) as judge:
        assert judge.judge_answer(in_files(LOAD + MODEL)).verdict is Verdict.EQUIVALENT
        began = time.monotonic()
        row = judge.judge_answer(in_files(sleepy))
        assert time.monotonic() - began < 15
        assert (row.verdict, row.redraw) == (Verdict.EQUIVALENT, "undecided: data set 1: the budget of 1.5 s is spent")
        assert row.evidence["redraw"] == {"agreed": 0, "how": "files"} and not row.failure
        assert judge.judge_answer(in_files(later)).verdict is Verdict.NOT_EQUIVALENT  # found in time


def test_a_data_set_is_left_open_where_the_program_itself_is_too_slow() -> None:
    slow = LOAD + "import time\nif capacity != 500: time.sleep(60)\n" + MODEL
    with Judge(workers=1, timeout=1.0, budget=60, redraw=1) as judge:
        row = judge.judge_answer(in_files(slow))
        assert row.verdict is Verdict.EQUIVALENT and row.redraw.startswith("undecided: data set 1: ") and "budget" not in row.redraw


# ---- a comparison that has to be killed


class Scripted(_Process):
    """A solving process that answers a request with these frames, and then ends or is silent."""

    frames_to_send: tuple[dict[str, Any], ...] = ()
    ends = False
    asked = 0

    def __init__(self) -> None:
        self.alive, self.late, self.how, self.ready, self.reached = True, False, "", True, None
        self.heads = deque()
        self.socket, self.theirs = socket.socketpair()
        self.frames = Frames()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        heard = Frames()
        with self.theirs, contextlib.suppress(OSError):
            while data := self.theirs.recv(1 << 18):
                for _ in heard.feed(data):
                    type(self).asked += 1
                    for frame in self.frames_to_send:
                        self.theirs.sendall(pack(frame))
                    if self.ends:
                        return

    def end(self) -> None:
        self.alive = False
        self.socket.close()
        self.thread.join(10)
        self.how = "exit code -9"


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, captured: Captured) -> Callable[..., dict[str, Any]]:
    def compared(*frames: dict[str, Any], ends: bool) -> dict[str, Any]:
        kind = type("Kind", (Scripted,), {"frames_to_send": frames, "ends": ends, "asked": 0})
        monkeypatch.setattr(solving, "_Process", kind)
        monkeypatch.setattr(solving, "_GRACE", 0.1)
        solvers = Solvers(1, 5.0)
        began = time.monotonic()
        found = solvers.compare(captured, Reference(LP), {"budget": 0.2, "names": "foreign", "accept_probes": False})
        assert time.monotonic() - began < 5
        return {**found, "asked": kind.asked}  # type: ignore[attr-defined]

    return compared


def record(verdict: Verdict) -> dict[str, Any]:
    return {"verdict": str(verdict), "method": "point", "sentence": "they differ", "map": [], "witness": {"point": {"x": "1"}}, "direction": None,
            "evidence": {"names": "hints"}, "seconds": 0.1, "tolerances": {}, "senses": [True, True]}


@pytest.mark.parametrize(("ends", "why"), [(False, "the budget of 0.2 s is spent (stopped from outside)"), (True, "our comparing process ended")])
def test_a_killed_comparison_falls_back_to_the_strongest_verdict_reached(scripted: Callable[..., dict[str, Any]], ends: bool, why: str) -> None:
    found = scripted({"reached": record(Verdict.SAME_OPTIMUM)}, {"reached": record(Verdict.NOT_EQUIVALENT)}, ends=ends)
    assert found["verdict"] == "NOT_EQUIVALENT" and found["evidence"]["open"].startswith(why) and found["asked"] == 1
    assert found["sentence"].startswith(f"they differ; not settled further: {why}")
    optimum = Judgement(Verdict.SAME_OPTIMUM, "the optimum 11 agrees with the label 11")
    judged = weigh(optimum, found, Solved("optimal", True, 11.0), Truth.of(11), Policy())
    assert judged.verdict is Verdict.NOT_EQUIVALENT and judged.evidence["open"].startswith(why)


def test_a_killed_comparison_that_had_reached_nothing_says_why(scripted: Callable[..., dict[str, Any]]) -> None:
    assert scripted(ends=False)["fault"] == "the budget of 0.2 s is spent (stopped from outside)"
    crashed = scripted(ends=True)
    assert "ended twice" in crashed["fault"] and crashed["asked"] == 2


def test_the_engine_tells_what_it_reaches(captured: Captured) -> None:
    told: list[dict[str, Any]] = []
    reference = LP.replace("end", "general\n y\nend").replace("c:", "d: x + 2 y <= 9\n c:").replace(" x ", " u ").replace(" y", " v")
    parts = [captured.encode(), reference.encode()]
    head = {"compare": {"budget": 5.0, "names": "foreign", "accept_probes": False}, "about": {}}
    found = solving._answer(head, parts, told.append)["comparison"]
    assert told and {t["verdict"] for t in told} <= {"SAME_OPTIMUM", "UNDECIDED"}  # of foreign names a refutation only when it is sure
    assert told[0].keys() == found.keys() and told[0]["senses"] == [True, True]


# ---- rows that are broken


@pytest.mark.parametrize(("change", "words"), [
    ({"mps": "NAME x\nROWS\n N obj\n L c\nCOLUMNS\n x c zwei\nENDATA\n"}, ""),
    ({"mps": "\x00\x01 nothing of a model"}, ""),
    ({"data": "{broken"}, "the data of its instance are no JSON"),
    ({"data": "[" * 100_000}, "the data of its instance are no JSON"),
])
def test_a_reference_that_cannot_be_read_is_named_with_its_row(judge: Judge, change: dict[str, str], words: str) -> None:
    ours = answer(INLINE + MODEL)
    broken = replace(ours, index="r7", instance={**ours.instance, **change}, reference=change.get("mps", ours.reference))
    row = judge.judge_answer(broken)
    assert row.verdict is Verdict.SAME_OPTIMUM and row.failure is Failure.NONE
    said = row.evidence["open"]
    assert said.startswith("the reference of row r7 cannot be read: ") and words in said and len(said) < 400
    assert "internal error" not in row.redraw + row.reason
    if "data" in change:
        assert row.redraw.startswith("not bound: the data of row r7's instance cannot be read: ")
    unlabelled = judge.judge_answer(replace(broken, label=None))
    if "mps" in change:
        assert (unlabelled.verdict, unlabelled.failure) == (Verdict.UNDECIDED, Failure.NO_TRUTH)
        assert "the reference of row r7 cannot be read: " in unlabelled.reason
    assert judge.judge_answer(ours).verdict is Verdict.EQUIVALENT


@pytest.mark.parametrize("instance", [{"id": "x"}, {"id": None, "family": None, "structure_hash": 3, "data": None, "level": "two"}])
def test_an_instance_without_its_columns_is_no_internal_error(judge: Judge, instance: dict[str, Any]) -> None:
    row = judge.judge_answer(replace(in_files(LOAD + MODEL), instance=instance))
    assert row.verdict.passed and "internal" not in row.reason + row.redraw + str(row.evidence), row
    alone = judge.judge_answer(replace(in_files(LOAD + SEARCH + ALONE), instance=instance, reference=""))
    assert alone.verdict is Verdict.SAME_OPTIMUM and alone.redraw.startswith("not bound: ")


def test_a_reference_beyond_all_size_is_not_even_sent(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "_REFERENCE", 1000)
    row = judge.judge_answer(Answer(3, f"```python\n{PROGRAM}```", 11, reference=LP + "\\ " + "x" * 1000))
    assert row.verdict is Verdict.SAME_OPTIMUM and row.evidence["open"].startswith(f"the reference of row 3 {UNREAD}it has ")
    assert judge.judge_answer(Answer(3, f"```python\n{PROGRAM}```", 11, reference=LP)).verdict is Verdict.EQUIVALENT
