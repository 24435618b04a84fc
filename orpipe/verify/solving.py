"""Processes that solve captured models, apart from the judge: a model that makes a solver crash, hang or swell costs one
process and is undecided, and solves run beside the sandbox on all cores.

Frames as in frames.py, over one socket a process:

    {"truth", "policy", "seconds"} with the part captured model    ->  a Solved
    {"reference", "seconds"} with the part text (LP or MPS)        ->  a Truth
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orpipe.errors import OrpipeError
from orpipe.verify.capture import Captured
from orpipe.verify.frames import Frames, pack
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth, Value
from orpipe.verify.verdict import Policy, Solved

_MEMORY = 4 << 30  # address space of a solving process
_START_SECONDS = 60.0


def truth_record(truth: Truth) -> dict[str, Any]:
    return {"values": [[v.number, v.decimals] for v in truth.values], "statuses": sorted(truth.statuses),
            "understood": truth.understood, "note": truth.note, "maximize": truth.maximize, "offset": truth.offset}


def truth_from(record: Mapping[str, Any]) -> Truth:
    values = tuple(Value(number, decimals) for number, decimals in record["values"])
    return Truth(values, frozenset(record["statuses"]), record["understood"], record["note"],
                 maximize=record["maximize"], offset=record["offset"])


class Solvers:
    """At most `workers` solving processes, started when needed (`warm` starts them at once).  Thread-safe."""

    def __init__(self, workers: int, seconds: float) -> None:
        self.seconds, self.closed = seconds, False
        self._lock = threading.Lock()
        self._all: list[_Process] = []
        self._free: queue.LifoQueue[_Process | None] = queue.LifoQueue()
        for _ in range(workers):
            self._free.put(None)

    def warm(self) -> None:
        with contextlib.suppress(queue.Empty):
            for _ in range(self._free.qsize()):
                process = self._free.get_nowait()
                self._free.put(process or self._start())

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

    def _ask(self, message: bytes) -> dict[str, Any]:
        process = self._free.get()
        try:
            for _ in range(2):
                if self.closed:
                    return {"fault": "the judge was closed"}
                process = process if process is not None and process.alive else self._start()
                found = process.ask(message, 6 * self.seconds + 10.0)
                if found is not None:
                    return found
                if process.late:
                    return {"fault": f"our solve did not end in time ({self.seconds:g} s) and was stopped", "late": True}
            return {"fault": f"our solving process ended twice on this model ({process.how if process else ''})"}
        except OSError as error:
            return {"fault": f"a solving process cannot be started: {error}"}
        finally:
            self._free.put(process if process is not None and process.alive else None)

    def _start(self) -> _Process:
        process = _Process()
        with self._lock:
            self._all = [p for p in self._all if p.alive] + [process]
        return process

    def close(self) -> None:
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
        if not self.alive:
            return
        self.alive = False
        self.socket.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
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
                ours.sendall(pack(_answer(head, parts[0])))


def _answer(head: Mapping[str, Any], part: bytes) -> dict[str, Any]:
    from orpipe.lp import read_lp
    from orpipe.mps import read_mps
    from orpipe.verify.resolve import reference, resolve

    try:
        if head.get("reference"):
            text = part.decode()
            problem = read_mps(text) if "\nROWS" in text else read_lp(text)
            return {"truth": truth_record(reference(problem, head["seconds"]))}
        problem = Captured.decode(part).problem()
        solved = resolve(problem, truth_from(head["truth"]), Policy(**head["policy"]), head["seconds"])
        return {"solved": json.loads(json.dumps(asdict(solved)))}
    except OrpipeError as error:
        return {"fault": str(error)}
    except MemoryError:
        return {"fault": "our solve ran out of memory"}
    except Exception as error:
        return {"fault": f"our solve failed ({type(error).__name__}: {error})"}
