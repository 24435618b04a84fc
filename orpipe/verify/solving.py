"""Processes that solve captured models, apart from the judge: a model that makes a solver crash, hang or swell costs one
process and is undecided, and solves run beside the sandbox on all cores.

Frames as in frames.py, over one socket a process:

    {"truth", "policy", "seconds"} with the part captured model    ->  a Solved
    {"reference", "seconds"} with the part text (LP or MPS)        ->  a Truth
    {"compare", "about"} with captured model and reference text    ->  a Comparison's record, and the two senses
    {"algebra", "about", "budget"} with answer and reference text  ->  a Judgement's fields, null where it holds no formulation
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
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from orpipe.errors import OrpipeError
from orpipe.problem import Problem
from orpipe.verify.against import LABELS, Reference
from orpipe.verify.capture import Captured
from orpipe.verify.frames import Frames, pack
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth, Value
from orpipe.verify.verdict import Judgement, Policy, Solved, Verdict

_MEMORY = 4 << 30  # address space of a solving process
_START_SECONDS = 60.0
_GRACE = 15.0  # seconds past the budget of a comparison, which keeps it by itself: the first one imports the engine


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

    def solve(self, captured: Captured, truth: Truth, policy: Policy) -> Solved:
        """Never raises: our own faults are a Solved without status."""
        head = {"truth": truth_record(truth), "policy": asdict(policy), "seconds": self.seconds}
        found = self._ask(pack(head, captured.encode()))
        if "fault" in found:
            failure = Failure.LIMIT if found.get("late") else Failure.INTERNAL
            return Solved("", captured.maximize, failure=failure, detail=str(found["fault"]))
        fields = found["solved"]
        fields |= {"failure": Failure(fields["failure"]), "hint": Failure(fields["hint"]), "solvers": tuple(fields["solvers"])}
        return Solved(**fields)

    def reference(self, text: str) -> Truth:
        """What a reference model (LP or MPS text) says; never raises."""
        found = self._ask(pack({"reference": True, "seconds": self.seconds}, text.encode()))
        if "fault" in found:
            return Truth(note=f"the reference model could not be used: {found['fault']}")
        return truth_from(found["truth"])

    def compare(self, captured: Captured, reference: Reference, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Comparison.record() of the reference (a) with a captured model (b), and "senses", whether each maximises; or
        {"fault": why there is none}.  settings: as of compare_problems, budget among them.  Never raises."""
        head = {"compare": dict(settings), "about": dict(reference.about)}
        found = self._ask(pack(head, captured.encode(), reference.text.encode()), settings["budget"] + _GRACE)
        if "fault" in found:
            why = f"the budget of {settings['budget']:g} s is spent (stopped from outside)" if found.get("late") else found["fault"]
            return {"fault": why}
        return found["comparison"]

    def algebra(self, text: str, reference: str, data: Mapping[str, str], about: Mapping[str, str], budget: float) -> Judgement | None:
        """orpipe.verify.formulation.judged_algebra, where reading may hang or swell as well.  Never raises."""
        head = {"algebra": dict(data), "about": dict(about), "budget": budget}
        parts = (part.encode(errors="replace") for part in (text, reference))
        found = self._ask(pack(head, *parts), budget + _GRACE)
        if "fault" in found:
            late = bool(found.get("late"))
            why = f"the budget of {budget:g} s is spent (stopped from outside)" if late else str(found["fault"])
            return Judgement(Verdict.UNDECIDED, f"the answer's algebra: {why}", Failure.LIMIT if late else Failure.INTERNAL, "algebra")
        fields = found["judgement"]
        return None if fields is None else Judgement(**{**fields, "verdict": Verdict(fields["verdict"]), "failure": Failure(fields["failure"])})

    def _ask(self, message: bytes, within: float = 0.0) -> dict[str, Any]:
        self._turns.get()
        process: _Process | None = None
        try:
            with contextlib.suppress(IndexError):
                process = self._idle.pop()
            for _ in range(2):
                process = process if process is not None and process.alive else self._start()
                found = process.ask(message, within or 6 * self.seconds + 10.0)
                if found is not None:
                    return found
                if self.closed:
                    return {"fault": "the judge was closed"}
                if process.late:
                    return {"fault": f"our solve did not end in time ({self.seconds:g} s) and was stopped", "late": True}
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
        self.socket, theirs = socket.socketpair()
        self.frames = Frames()
        root = str(Path(__file__).resolve().parents[2])
        path = [root, *(p for p in sys.path if p and os.path.isabs(p) and p != root)]
        code = f"import sys; sys.path[:] = {path!r}; from orpipe.verify.solving import serve; serve({theirs.fileno()})"
        env = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PATH") if name in os.environ}
        env |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-s", "-c", code], env=env, pass_fds=[theirs.fileno()], start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.fresh = True

    def ask(self, message: bytes, seconds: float) -> dict[str, Any] | None:
        """The answer; None if the process ended or was stopped because it was late."""
        try:
            self.socket.settimeout(seconds + (_START_SECONDS if self.fresh else 0.0))
            self.socket.sendall(message)
            while True:
                data = self.socket.recv(1 << 18)
                if not data:
                    break
                for head, _ in self.frames.feed(data):
                    self.fresh = False
                    return head
        except TimeoutError:
            self.late = True
        except OSError:
            pass
        self.end()
        return None

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
    solvers()  # imports the libraries
    frames = Frames()
    with socket.socket(fileno=fd) as ours:
        while data := ours.recv(1 << 18):
            for head, parts in frames.feed(data):
                ours.sendall(pack(_answer(head, parts)))


def _answer(head: Mapping[str, Any], parts: Sequence[bytes]) -> dict[str, Any]:
    from orpipe.verify.resolve import reference, resolve

    part, *more = parts
    try:
        if head.get("reference"):
            return {"truth": truth_record(reference(_reference(part), head["seconds"]))}
        if "compare" in head:
            return {"comparison": _compared(Captured.decode(part).problem(), _reference(more[0], **head["about"]), head["compare"])}
        if "algebra" in head:
            from orpipe.verify.formulation import judged_algebra

            judged = judged_algebra(part.decode(), more[0].decode(), head["algebra"], head["budget"], head["about"], guarded=False)
            return {"judgement": None if judged is None else json.loads(json.dumps(asdict(judged), default=str))}
        problem = Captured.decode(part).problem()
        solved = resolve(problem, truth_from(head["truth"]), Policy(**head["policy"]), head["seconds"])
        return {"solved": json.loads(json.dumps(asdict(solved)))}
    except OrpipeError as error:
        return {"fault": str(error)}
    except MemoryError:
        return {"fault": "our solve ran out of memory"}
    except Exception as error:
        return {"fault": f"our solve failed ({type(error).__name__}: {error})"}


@lru_cache(maxsize=64)
def _reference(text: bytes, **about: str) -> Problem:
    """A reference model as read, with its auxiliaries where they are known."""
    from orpipe.lp import read_lp
    from orpipe.mps import read_mps
    from orpipe.verify.resolve import without_giants
    from orpipe.verify.subjects import with_auxiliaries

    said = text.decode()
    problem = read_mps(said) if "\nROWS" in said else read_lp(said)
    return without_giants(with_auxiliaries(problem, about) if about else problem)


def _compared(answer: Problem, reference: Problem, settings: Mapping[str, Any]) -> dict[str, Any]:
    """names "foreign": the answer's names are its own, so where a difference hangs on them alone nothing is said."""
    from orpipe.verify.equivalence import Comparison, compare_problems
    from orpipe.verify.resolve import without_giants

    answer, foreign, began = without_giants(answer), settings["names"] == "foreign", time.perf_counter()
    rest = {**settings, "names": "trusted"} if foreign else settings
    found = compare_problems(reference, answer, labels=LABELS, **rest)
    if foreign and found.verdict is Verdict.NOT_EQUIVALENT:
        left = max(0.1, settings["budget"] - (time.perf_counter() - began))
        if compare_problems(reference, answer, **{**rest, "names": "hints", "budget": left}).verdict is Verdict.EQUIVALENT:
            found = Comparison(Verdict.UNDECIDED, "", "it is the reference only if variables of equal names mean other quantities",
                               evidence={"names": "foreign"}, seconds=time.perf_counter() - began)
    return {**json.loads(json.dumps(found.record(), default=str)), "senses": [bool(reference.maximize), bool(answer.maximize)]}
