"""Processes that solve captured models, apart from the judge: a model that makes a solver crash, hang or swell costs one
process and is undecided, and solves run beside the sandbox on all cores.

Frames as in frames.py, over one socket a process:

    {"truth", "policy", "seconds"} with the part captured model    ->  a Solved
    {"reference", "seconds"} with the part text (LP or MPS)        ->  a Truth
    {"compare", "about"} with captured model and reference text    ->  a Comparison's record, and the two senses
    {"algebra", "about", "budget"} with answer and reference text  ->  a Judgement's fields, null where it holds no formulation

The last two first send {"reached"} of the same kind, any number of times: the strongest verdict so far, should they be killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from orpipe.errors import OrpipeError, Unsupported
from orpipe.problem import Problem
from orpipe.verify.against import LABELS, Reference
from orpipe.verify.capture import Captured
from orpipe.verify.frames import Frames, pack
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth, Value
from orpipe.verify.verdict import Judgement, Policy, Solved, Verdict

_MEMORY = 4 << 30  # address space of a solving process
_START_SECONDS = 60.0
_GRACE = 2.0  # seconds past a budget, which a comparison keeps by itself
_REFERENCE = 32 << 20  # bytes of a reference model
UNREAD = "cannot be read: "  # begins what is said of a reference model that is none


def truth_record(truth: Truth) -> dict[str, Any]:
    return {"values": [[v.number, v.decimals] for v in truth.values], "statuses": sorted(truth.statuses),
            "understood": truth.understood, "note": truth.note, "maximize": truth.maximize, "offset": truth.offset}


def truth_from(record: Mapping[str, Any]) -> Truth:
    values = tuple(Value(number, decimals) for number, decimals in record["values"])
    return Truth(values, frozenset(record["statuses"]), record["understood"], record["note"],
                 maximize=record["maximize"], offset=record["offset"])


class Solvers:
    """At most `workers` solving processes, started when needed (`warm` starts them at once).  Thread-safe; `close` may also be
    interrupted, the others are for threads that no signal reaches."""

    def __init__(self, workers: int, seconds: float) -> None:
        self.seconds, self.closed = seconds, False
        self._lock = threading.Lock()
        self._all: list[_Process] = []
        self._idle: list[_Process] = []  # the last one used comes first: it has its references read
        self._turns: SimpleQueue[None] = SimpleQueue()
        for _ in range(workers):
            self._turns.put(None)

    def warm(self) -> None:
        """Raises OSError if one cannot be started."""
        turns = 0
        try:
            while not self._turns.empty():
                self._turns.get()
                turns += 1
                if len(self._idle) < turns:
                    self._idle.append(self._start())
        finally:
            for _ in range(turns):
                self._turns.put(None)

    def solve(self, captured: Captured, truth: Truth, policy: Policy, most: float | None = None) -> Solved:
        """most: seconds in all.  Never raises: our own faults are a Solved without status."""
        head = {"truth": truth_record(truth), "policy": asdict(policy), "seconds": self._seconds(most)}
        found = self._ask(pack(head, captured.encode()), most)
        if "fault" in found:
            failure = Failure.LIMIT if found.get("late") else Failure.INTERNAL
            return Solved("", captured.maximize, failure=failure, detail=str(found["fault"]))
        fields = found["solved"]
        fields |= {"failure": Failure(fields["failure"]), "hint": Failure(fields["hint"]), "solvers": tuple(fields["solvers"])}
        return Solved(**fields)

    def reference(self, text: str, most: float | None = None) -> Truth:
        """What a reference model (LP or MPS text) says; most: seconds in all.  Never raises; the note of one that cannot be read
        begins with UNREAD."""
        raw = _raw(text)
        found: dict[str, Any] = {"fault": raw} if isinstance(raw, str) else self._ask(
            pack({"reference": True, "seconds": self._seconds(most)}, raw), 3 * self.seconds + 10.0 if most is None else most)
        if "fault" in found:
            why = str(found["fault"])
            return Truth(note=why if why.startswith(UNREAD) else f"the reference model could not be used: {why}")
        return truth_from(found["truth"])

    def compare(self, captured: Captured, reference: Reference, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Comparison.record() of the reference (a) with a captured model (b), and "senses", whether each maximises; or
        {"fault": why there is none}.  settings: as of compare_problems, budget among them.  If it has to be killed, the strongest
        verdict it had reached.  Never raises."""
        budget, raw = float(settings["budget"]), _raw(reference.text)
        if isinstance(raw, str):
            return {"fault": raw}
        head = {"compare": dict(settings), "about": dict(reference.about)}
        found = self._ask(pack(head, captured.encode(), raw), budget)
        if "fault" not in found:
            return found["comparison"]
        why = _spent(budget) if found.get("late") else found["fault"]
        reached = found.get("reached")
        if reached is None:
            return {"fault": why}
        return {**reached, "sentence": f"{reached['sentence']}; not settled further: {why}", "evidence": {**reached["evidence"], "open": why}}

    def algebra(self, text: str, reference: str, data: Mapping[str, str], about: Mapping[str, str], budget: float) -> Judgement | None:
        """orpipe.verify.formulation.judged_algebra, where reading may hang or swell as well.  Never raises."""
        head, raw = {"algebra": dict(data), "about": dict(about), "budget": budget}, _raw(reference)
        found: dict[str, Any] = {"fault": raw}
        if not isinstance(raw, str):
            found = self._ask(pack(head, text.encode(errors="replace"), raw), budget)
        if "fault" not in found:
            fields, more = found["judgement"], ""
        else:
            late = bool(found.get("late"))
            why = _spent(budget) if late else str(found["fault"])
            fields, more = found.get("reached"), f"; not settled further: {why}"
            if fields is None:
                unread, said = why.startswith(UNREAD), f"the answer's algebra: {why}"
                failure = Failure.LIMIT if late else Failure.NO_TRUTH if unread else Failure.INTERNAL
                return Judgement(Verdict.UNDECIDED, why if unread else said, failure, "algebra")
        if fields is None:
            return None
        fields |= {"verdict": Verdict(fields["verdict"]), "failure": Failure(fields["failure"]), "reason": fields["reason"] + more}
        return Judgement(**fields)

    def _seconds(self, most: float | None) -> float:
        return self.seconds if most is None else max(0.05, min(self.seconds, most))

    def _ask(self, message: bytes, most: float | None = None) -> dict[str, Any]:
        """most: seconds, and a little grace; default: what several solves of `seconds` each may take.  A fault comes with what
        was "reached"."""
        self._turns.get()
        process: _Process | None = None
        try:
            with contextlib.suppress(IndexError):
                process = self._idle.pop()
            for _ in range(2):
                process = process if process is not None and process.alive else self._start()
                found = process.ask(message, 6 * self.seconds + 10.0 if most is None else most + _GRACE)
                if found is not None:
                    return found
                reached: dict[str, Any] = {} if process.reached is None else {"reached": process.reached}
                if self.closed:
                    return {"fault": "the judge was closed", **reached}
                if process.late:
                    return {"fault": f"our solve did not end in time ({self._seconds(most):g} s) and was stopped", "late": True, **reached}
                if reached:
                    return {"fault": f"our comparing process ended ({process.how})", **reached}
            return {"fault": f"our solving process ended twice on this model ({process.how if process else ''})"}
        except OSError as error:
            return {"fault": "the judge was closed" if self.closed else f"a solving process cannot be started: {error}"}
        finally:
            if process is not None and process.alive:
                self._idle.append(process)
            self._turns.put(None)

    def _start(self) -> _Process:
        """Raises OSError, also once closed."""
        process = _Process()
        with self._lock:
            if not self.closed:
                self._all = [p for p in self._all if p.alive] + [process]
                return process
        process.end()
        raise OSError("the judge was closed")

    def close(self) -> None:
        """End all processes; whoever waits for one is told.  May be interrupted and called again."""
        self.closed = True
        with self._lock:
            for process in self._all:
                process.end()
            self._all = []

    def forget(self) -> None:
        """In a forked child: the processes are the parent's."""
        self.closed, self._all = True, []


class _Process:
    def __init__(self) -> None:
        self.alive, self.late, self.how = True, False, ""
        self.reached: Any = None  # of the last frame that came before an answer
        self.socket, theirs = socket.socketpair()
        self.frames = Frames()
        self.heads: deque[dict[str, Any]] = deque()
        root = str(Path(__file__).resolve().parents[2])
        path = [root, *(p for p in sys.path if p and os.path.isabs(p) and p != root)]
        code = f"import sys; sys.path[:] = {path!r}; from orpipe.verify.solving import serve; serve({theirs.fileno()})"
        env = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PATH") if name in os.environ}
        env |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-s", "-c", code], env=env, pass_fds=[theirs.fileno()], start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.ready = False

    def ask(self, message: bytes, seconds: float) -> dict[str, Any] | None:
        """The answer; None if the process ended or was stopped because it was late: `reached` is what it had said by then."""
        self.reached = None
        try:
            if not self.ready:  # its start is none of the request's seconds
                self.ready = self._next(time.monotonic() + _START_SECONDS) is not None
            end = time.monotonic() + seconds
            self.socket.settimeout(seconds)
            self.socket.sendall(message)
            while (head := self._next(end)) is not None:
                if "reached" not in head:
                    return head
                self.reached = head["reached"]
        except TimeoutError:
            self.late = True
        except OSError:
            pass
        self.end()
        return None

    def _next(self, end: float) -> dict[str, Any] | None:
        """The next frame, None if there is none to come.  Raises TimeoutError at the time `end`."""
        while not self.heads:
            self.socket.settimeout(max(0.01, end - time.monotonic()))
            data = self.socket.recv(1 << 18)
            if not data:
                return None
            self.heads.extend(head for head, _ in self.frames.feed(data))
        return self.heads.popleft()

    def end(self) -> None:
        """Kill it; from any thread, and again after an interruption."""
        self.alive = False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.socket.close()
        self.how = f"exit code {self.process.wait()}"


# -------------------------------------------------------------------------------------------------------- the process


def serve(fd: int) -> None:
    """Answer requests on the socket `fd` until it is closed."""
    from orpipe.solve import solvers

    for kind, limit in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, _MEMORY)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
    import orpipe.verify.equivalence
    import orpipe.verify.resolve  # noqa: F401

    solvers()  # imports the libraries
    frames = Frames()
    with socket.socket(fileno=fd) as ours:
        ours.sendall(pack({"ready": True}))
        while data := ours.recv(1 << 18):
            for head, parts in frames.feed(data):
                ours.sendall(pack(_answer(head, parts, lambda found: ours.sendall(pack({"reached": found})))))


def _answer(head: Mapping[str, Any], parts: Sequence[bytes], told: Callable[[Any], None]) -> dict[str, Any]:
    from orpipe.verify.resolve import reference, resolve

    part, *more = parts
    try:
        if head.get("reference"):
            return {"truth": truth_record(reference(_reference(part), head["seconds"]))}
        if "compare" in head:
            return {"comparison": _compared(Captured.decode(part).problem(), _reference(more[0], **head["about"]), head["compare"], told)}
        if "algebra" in head:
            from orpipe.verify.formulation import judged_algebra

            judged = judged_algebra(part.decode(), _reference(more[0], **head["about"]), head["algebra"], head["budget"], head["about"],
                                    guarded=False, report=lambda found: told(_plain(asdict(found))))
            return {"judgement": None if judged is None else _plain(asdict(judged))}
        problem = Captured.decode(part).problem()
        solved = resolve(problem, truth_from(head["truth"]), Policy(**head["policy"]), head["seconds"])
        return {"solved": json.loads(json.dumps(asdict(solved)))}
    except _Unread as error:
        return {"fault": UNREAD + " ".join(str(error).split())[:300]}
    except OrpipeError as error:
        return {"fault": str(error)}
    except MemoryError:
        return {"fault": "our solve ran out of memory"}
    except Exception as error:
        return {"fault": f"our solve failed ({type(error).__name__}: {error})"}


def _spent(budget: float) -> str:
    return f"the budget of {budget:g} s is spent (stopped from outside)"


def _raw(reference: str) -> bytes | str:
    """A reference model's text as it is sent, or what is wrong with it."""
    if len(reference) > _REFERENCE:
        return f"{UNREAD}it has {len(reference) >> 20} MiB; at most {_REFERENCE >> 20} are taken"
    return reference.encode(errors="replace")


class _Unread(Exception):
    """A reference model that is none."""


@lru_cache(maxsize=64)
def _kept(text: bytes, **about: str) -> Problem:
    """A reference model as read, with its auxiliaries where they are known."""
    from orpipe.lp import read_lp
    from orpipe.mps import read_mps
    from orpipe.verify.resolve import without_giants
    from orpipe.verify.subjects import with_auxiliaries

    said = text.decode()
    problem = read_mps(said) if "\nROWS" in said else read_lp(said)
    return without_giants(with_auxiliaries(problem, about) if about else problem)


def _reference(text: bytes, **about: str) -> Problem:
    """Raises _Unread.  Large ones are not kept."""
    try:
        return _kept(text, **about) if len(text) < 1 << 20 else _kept.__wrapped__(text, **about)
    except Unsupported:
        raise
    except (OrpipeError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise _Unread(str(error) if isinstance(error, (OrpipeError, ValueError)) else f"{type(error).__name__}: {error}") from None


def _plain(content: Any) -> Any:
    return json.loads(json.dumps(content, default=str))


def _compared(answer: Problem, reference: Problem, settings: Mapping[str, Any], told: Callable[[Any], None]) -> dict[str, Any]:
    """names "foreign": the answer's names are its own, so where a difference hangs on them alone nothing is said."""
    from orpipe.verify.equivalence import Comparison, compare_problems
    from orpipe.verify.resolve import without_giants

    answer, foreign, began = without_giants(answer), settings["names"] == "foreign", time.perf_counter()
    senses = {"senses": [bool(reference.maximize), bool(answer.maximize)]}

    def report(found: Comparison) -> None:
        if not (foreign and found.verdict is Verdict.NOT_EQUIVALENT):
            told(_plain(found.record()) | senses)

    rest = {**settings, "names": "trusted"} if foreign else settings
    found = compare_problems(reference, answer, labels=LABELS, report=report, **rest)
    if foreign and found.verdict is Verdict.NOT_EQUIVALENT:
        left = max(0.1, settings["budget"] - (time.perf_counter() - began))
        if compare_problems(reference, answer, **{**rest, "names": "hints", "budget": left}).verdict is Verdict.EQUIVALENT:
            found = Comparison(Verdict.UNDECIDED, "", "it is the reference only if variables of equal names mean other quantities",
                               evidence={"names": "foreign"}, seconds=time.perf_counter() - began)
    return _plain(found.record()) | senses
