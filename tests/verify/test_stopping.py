"""Stopping: whoever waits may be interrupted at any point, closing may be interrupted and called again, nothing waits for ever."""

from __future__ import annotations

import contextlib
import linecache
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from orpipe.errors import EnvironmentError_
from orpipe.verify import crew as crew_module
from orpipe.verify.answers import Answer
from orpipe.verify.crew import Crew, Promise, side_by_side
from orpipe.verify.judge import Judge, VerdictRow
from orpipe.verify.machine import Machine
from orpipe.verify.pump import Pump
from orpipe.verify.sandbox import Job, Limits, Pool
from orpipe.verify.solving import Solvers, _Process
from orpipe.verify.taxonomy import Failure
from orpipe.verify.verdict import Verdict

ROOT = Path(__file__).parents[2]


def soon(what: Callable[[], Any], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(what())


def ask(judge: Judge, answer: Answer, told: Callable[[VerdictRow], Any]) -> None:
    told(judge.judge_answer(answer))


@contextlib.contextmanager
def interrupted(at: int, *functions: Callable[..., Any]) -> Iterator[list[str]]:
    """KeyboardInterrupt before the line number `at` of those that this thread comes to in these functions; the list tells
    which it was.  As a signal could come: not between a `with` block and the release of its lock, which is one call of C, nor at
    a `try:`, which does nothing."""
    codes: set[CodeType] = {f.__code__ for f in functions}
    came: list[str] = []
    known: set[tuple[CodeType, int]] = set()

    def lines(entered: set[int]) -> Any:
        def line(frame: FrameType, event: str, arg: Any) -> Any:
            if event != "line" or frame.f_lineno in entered:
                return line
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
            if text == "try:":
                return line
            if text.startswith("with "):
                entered.add(frame.f_lineno)
            before = len(known)
            known.add((frame.f_code, frame.f_lineno))
            if before < len(known) == at:
                came.append(f"{frame.f_code.co_qualname}: {text}")
                raise KeyboardInterrupt
            return line

        return line

    tracer = sys.gettrace()
    sys.settrace(lambda frame, event, arg: lines(set()) if frame.f_code in codes else None)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield came
    finally:
        sys.settrace(tracer)


# ---- the parts


def test_a_promise_is_kept_for_everybody_who_waits_and_the_first_result_counts() -> None:
    promise: Promise[int] = Promise()
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(promise.result())) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert not promise.given and not found
    promise.give(7)
    promise.give(8)
    for thread in threads:
        thread.join(10)
    assert found == [7, 7, 7] and promise.result() == 7


def test_an_interrupted_waiter_holds_nothing_that_the_giver_needs() -> None:
    promise: Promise[int] = Promise()
    alarm = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(3):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            with pytest.raises(KeyboardInterrupt):
                promise.result()
        giver = threading.Thread(target=promise.give, args=(1,))
        giver.start()
        giver.join(10)
        assert not giver.is_alive() and promise.result() == 1
    finally:
        signal.signal(signal.SIGALRM, alarm)


def test_a_crew_does_what_it_took_and_takes_nothing_once_closed(caplog: pytest.LogCaptureFixture) -> None:
    crew = Crew(2)
    done: list[int] = []
    assert crew.give(lambda: 1 / 0)  # costs no thread
    assert all(crew.give(partial(done.append, k)) for k in range(50))
    crew.close()
    crew.close()
    assert soon(lambda: len(done) == 50) and set(done) == set(range(50))
    assert not crew.give(lambda: done.append(99)) and 99 not in done
    assert "ZeroDivisionError" in caplog.text


def test_calls_side_by_side_keep_their_order_and_the_first_error_ends_them() -> None:
    def slow(k: int) -> int:
        time.sleep(0.02 / (k + 1))
        return k

    assert side_by_side(slow, range(9), 3) == list(range(9))
    assert side_by_side(str, [], 3) == []
    begun: list[int] = []

    def call(k: int) -> None:
        begun.append(k)
        time.sleep(0.01)
        raise ValueError(f"of {k}")

    with pytest.raises(ValueError, match="of 0"):
        side_by_side(call, range(200), 1)
    assert len(begun) < 100


def test_a_crew_without_threads_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(crew_module._thread, "start_new_thread", refused)
    with pytest.raises(EnvironmentError_, match="no thread can be started"):
        Crew(1).give(lambda: None)


def test_a_closed_pump_takes_no_job_and_starts_no_thread() -> None:
    pump = Pump(1, (), 1 << 20)
    pump.close()
    began = time.monotonic()
    run = pump.submit(Job("print(1)"), Limits()).result()
    assert run.outcome == "sandbox" and "closed" in run.message
    assert not pump._running.locked() and time.monotonic() - began < 5


def test_a_pump_whose_loop_breaks_answers_and_is_replaced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken(self: Pump) -> None:
        raise RuntimeError("a fault of ours")

    with Pool() as pool, monkeypatch.context() as patch:
        patch.setattr(Pump, "_dispatch", broken)
        assert pool.run("print(1)").outcome == "sandbox"
        first = pool._pump
        assert first is not None and soon(lambda: first._over)
        assert "a fault of ours" in caplog.text
        patch.undo()
        assert pool.run("print(1)").stdout == "1\n" and pool._pump is not first


# ---- closing, interrupted before each of its lines


def test_closing_a_judge_can_be_interrupted_before_every_line_and_done_again() -> None:
    functions = (Judge.close, Machine.close, Crew.close, Solvers.close, _Process.end)
    seen: list[str] = []
    for at in range(1, 200):
        judge = Judge(1)
        machine = judge._ready()
        process = machine.solvers._start()
        rows: list[VerdictRow] = []
        held: Promise[None] = Promise()
        for _ in range(3):  # three threads wait in it, one answer in the queue
            judge._submit(Answer(0, "x"), lambda _: held.result())
        thread = threading.Thread(target=ask, args=(judge, Answer(1, "```python\nprint()\n```"), rows.append))
        thread.start()
        assert soon(machine.crew._queue.qsize)
        with interrupted(at, *functions) as came:
            judge.close()
        judge.close()
        held.give(None)
        thread.join(20)
        assert not thread.is_alive() and rows[0].verdict is Verdict.UNDECIDED and rows[0].failure is Failure.SANDBOX, came
        assert process.process.returncode is not None and machine.crew.closed and machine.closed, came
        assert judge._ready() is not machine  # and it may be used again
        judge.close()
        seen += came
        if not came:
            break
    assert not came and {line.split(":")[0] for line in seen} == {f.__qualname__ for f in functions}


def test_closing_a_pool_can_be_interrupted_before_every_line_and_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pump, "_dispatch", lambda _: None)  # its thread waits in select for ever, but for the byte that wakes it
    functions = (Pool.close, Pump.close, Pump._wake)
    seen: list[str] = []
    for at in range(1, 60):
        pool = Pool(1)
        waiting = [pool.submit(Job("print(1)")) for _ in range(2)]
        pump = pool._pump
        assert pump is not None and soon(partial(getattr, pump, "_ident"))
        with interrupted(at, *functions) as came:
            pool.close()
        pool.close()
        assert pump._over and all(promise.given and promise.result().outcome == "sandbox" for promise in waiting), came
        late = pump.submit(Job("print(1)"), Limits())
        assert late.given and "closed" in late.result().message
        seen += came
        if not came:
            break
    assert not came and {line.split(":")[0] for line in seen} == {f.__qualname__ for f in functions}


def test_an_interrupted_start_leaves_no_thread_and_works_the_next_time() -> None:
    functions = (Judge._ready, Judge._submit, Crew.__init__, Crew.give, Machine.__init__, Solvers.__init__)
    before = set(sys._current_frames())
    for at in range(1, 200):
        judge = Judge(1)
        with interrupted(at, *functions) as came:
            judge.judge_answer(Answer(0, "no code"))
        promise: Promise[VerdictRow] = Promise()
        threading.Thread(target=ask, args=(judge, Answer(0, "no code"), promise.give), daemon=True).start()
        assert soon(partial(getattr, promise, "given")), came
        judge.close()
        if not came:
            break
    assert not came and at > 20
    assert soon(lambda: not set(sys._current_frames()) - before)


# ---- real signals


STORM = """
import random, signal, sys, time
from orpipe.verify.answers import Answer
from orpipe.verify.judge import Judge

rng = random.Random(3)
signal.signal(signal.SIGALRM, signal.default_int_handler)
stopped = 0
for round in range(400):
    judge = Judge(2)
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 5e-3))
        with judge:
            for row in judge.judge_many((Answer(k, "no code") for k in range(30)), ordered=bool(round % 2)):
                pass
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        stopped += 1
    judge.close()
end = time.monotonic() + 20
while len(sys._current_frames()) > 1 and time.monotonic() < end:
    time.sleep(0.01)
print(stopped > 100, len(sys._current_frames()))
judge = Judge(1)
promise = judge.judge_answer(Answer(0, "no code"))  # left open: the interpreter ends all the same
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "solvers")])}


def test_a_storm_of_signals_hangs_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", STORM], capture_output=True, text=True, timeout=120, check=False, env=environment())
    assert (done.returncode, done.stdout) == (0, "True 1\n"), done.stderr


LEFT = """
import os, sys, time
from orpipe.verify import crew, solving, judge, pump
from orpipe.verify.answers import Answer
from orpipe.verify.sandbox import Job

def stopped(*_):
    raise KeyboardInterrupt

one = judge.Judge(1)
one.warm()
one._pool.run("print(1)")
one._pool.submit(Job("while True: pass"))
children = [p.process.pid for p in one._ready().solvers._all] + [p.process.pid for p in one._pool._pump._parents.values()]
print(*children, flush=True)
{step} = stopped
one.close()
"""


@pytest.mark.parametrize("step", ["solving._Process.end", "pump.Pump._wake"])
def test_the_process_ends_where_a_close_is_always_interrupted(step: str, tmp_path: Path) -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", LEFT.replace("{step}", step)], capture_output=True, text=True, timeout=100, check=False,
                          env={**environment(), "TMPDIR": str(tmp_path)})
    assert "KeyboardInterrupt" in done.stderr and done.returncode != 0
    children = list(map(int, done.stdout.split()))
    assert len(children) == 2 and time.monotonic() - began < 60
    assert soon(lambda: not any(Path(f"/proc/{pid}/fd").exists() for pid in children)), children
