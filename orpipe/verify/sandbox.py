"""Running programs: a Pool of confined child processes that tells what became of each program and which model it built.

A Pool starts, when first needed, one warm parent per library (zygote.py), in an interpreter of its own: never a fork
of this process, whose threads and solvers would not survive it.  Each program runs in a forked child with an empty
environment, a work folder that holds only the files given, and every layer of isolation.py that the machine offers.

Nothing that a program prints decides anything here: callers judge the captured model.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from orpipe.errors import NotFound, ParseError, UsageError
from orpipe.verify.capture import Captured, announced, discover
from orpipe.verify.isolation import WHAT, Layer, available_layers
from orpipe.verify.zygote import Frames, pack

__all__ = ["Job", "Layer", "Limits", "Outcome", "Pool", "Run", "available_layers"]

Outcome = Literal["ok", "no model", "unsupported", "exception", "timeout", "memory", "output", "crash", "sandbox"]

_MIB = 1 << 20
_START_SECONDS, _GRACE_SECONDS = 120.0, 30.0


@dataclass(frozen=True, slots=True)
class Limits:
    """seconds: wall clock; the rest in bytes.  memory: address space; disk: work folder; output: stdout and stderr
    each.
    """

    seconds: float = 20.0
    memory: int = 2048 * _MIB
    file_size: int = 16 * _MIB
    disk: int = 64 * _MIB
    output: int = _MIB


@dataclass(frozen=True, slots=True)
class Job:
    """A program and the text files beside it.  `library`: which warm parent; by default what its imports announce."""

    program: str
    files: Mapping[str, str] = field(default_factory=dict)
    limits: Limits | None = None
    library: str | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """What became of a program.

    ok            it ended and the last model it solved is captured
    no model      it ended without solving anything
    unsupported   it ended; its last model is not a linear one that we can take exactly (message says why)
    exception, timeout, memory, output (printed too much), crash       as they say; `captured` may be there still
    sandbox       our own fault; says nothing about the program
    """

    outcome: Outcome
    message: str = ""
    exception: str = ""
    traceback: str = ""
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    captured: Captured | None = None
    n_solves: int = 0
    layers: tuple[str, ...] = ()

    @property
    def library(self) -> str:
        return self.captured.library if self.captured is not None else ""


class Pool:
    """At most `workers` programs at a time.  Use as a context manager, or let it end with the process.

    May be made in several processes, and a Pool inherited through a fork starts anew in the child.  `without` leaves
    out layers by name, to see how a weaker kernel fares.
    """

    def __init__(self, workers: int = 1, limits: Limits | None = None, without: Iterable[str] = ()) -> None:
        if workers < 1:
            raise UsageError(f"a pool needs at least one worker, not {workers}")
        self.workers, self.limits, self.without = workers, limits or Limits(), tuple(without)
        for name in self.without:
            if name not in WHAT:
                raise NotFound.among("sandbox layer", name, WHAT)
        self._pump: _Pump | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, job: Job) -> Future[Run]:
        """Queue a job; the Future's result is a Run, never an exception.  Raises UsageError for a bad file name."""
        for name in job.files:
            parts = Path(name).parts
            if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name or name == "program.py":
                raise UsageError(f"'{name}' is no file name for a work folder; use a relative one without '..'")
        if self._pump is not None and self._pump.pid != os.getpid():
            self._pump, self._lock = None, threading.Lock()  # inherited: its thread and its locks stayed in the parent
        with self._lock:
            if self._pump is None or self._pump.closed:
                self._pump = _Pump(self.workers, self.without)
                weakref.finalize(self, self._pump.close)
            return self._pump.submit(job, job.limits or self.limits)

    def run(self, program: str, files: Mapping[str, str] | None = None, limits: Limits | None = None) -> Run:
        return self.submit(Job(program, files or {}, limits)).result()

    def run_many(self, jobs: Iterable[Job]) -> list[Run]:
        """Runs in the order of the jobs."""
        return [future.result() for future in [self.submit(job) for job in jobs]]

    def warm(self, *libraries: str) -> dict[str, Run]:
        """Start the warm parents of these libraries (default: all) and run an empty program in each."""
        names = libraries or tuple(discover())
        runs = self.run_many(Job("", library=name) for name in names)
        return dict(zip(names, runs, strict=True))

    def close(self) -> None:
        if self._pump is not None and self._pump.pid == os.getpid():
            self._pump.close()
        self._pump = None


# ------------------------------------------------------------------------------------------------------ the machinery


@dataclass(slots=True)
class _Task:
    job: Job
    limits: Limits
    future: Future[Run]
    library: str
    sent: float = 0.0


class _Parent:
    """A warm parent as its owner sees it."""

    def __init__(self, library: str, without: tuple[str, ...]) -> None:
        self.library = library
        self.base = tempfile.mkdtemp(prefix="orpipe-sandbox-")
        self.tasks: dict[int, _Task] = {}
        self.frames = Frames()
        self.started, self.ready_at = time.monotonic(), 0.0
        self.layers: tuple[str, ...] = ()
        self.missing: list[str] = []
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(_START_SECONDS)  # a parent that does not read counts as lost
        root = str(Path(__file__).resolve().parents[2])
        path = [root, *(p for p in sys.path if p and os.path.isabs(p) and p != root)]
        arguments = (theirs.fileno(), self.base, library, without)
        code = f"import sys; sys.path[:] = {path!r}; from orpipe.verify.zygote import main; main(*{arguments!r})"
        env = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        env |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1",
                "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
        try:
            with theirs, open(os.path.join(self.base, "log"), "wb") as log:
                self.process = subprocess.Popen(
                    [sys.executable, "-s", "-c", code], env=env, cwd=self.base, pass_fds=[theirs.fileno()],
                    start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        except OSError:
            self.socket.close()
            shutil.rmtree(self.base, ignore_errors=True)
            raise

    def overdue(self, now: float) -> bool:
        """The parent itself hangs: the programs' own clocks are its business."""
        if not self.ready_at:
            return now - self.started > _START_SECONDS
        return any(now - max(t.sent, self.ready_at) > t.limits.seconds + _GRACE_SECONDS for t in self.tasks.values())

    def end(self) -> str:
        """Stop it and clear up; the last line of its log."""
        self.socket.close()
        try:
            self.process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        lines: list[str] = []
        with contextlib.suppress(OSError):
            lines = Path(self.base, "log").read_text(errors="replace").strip().splitlines()
        shutil.rmtree(self.base, ignore_errors=True)
        return lines[-1] if lines else f"exit code {self.process.returncode}"


class _Pump:
    """One thread that hands jobs to parents and answers to futures.  Holds no reference to its Pool."""

    def __init__(self, workers: int, without: tuple[str, ...]) -> None:
        self.workers, self.without, self.pid, self.closed = workers, without, os.getpid(), False
        self._gate = threading.Lock()
        self._queue: deque[_Task] = deque()
        self._parents: dict[str, _Parent] = {}
        self._numbers = iter(range(1 << 62))
        self._selector = selectors.DefaultSelector()
        self._ear, self._mouth = socket.socketpair()
        self._ear.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._loop, name="orpipe-sandbox", daemon=True)
        self._thread.start()

    def submit(self, job: Job, limits: Limits) -> Future[Run]:
        library = job.library if job.library is not None else announced(job.program)
        task = _Task(job, limits, Future(), library)
        with self._gate:
            if self.closed:
                _answer(task, Run("sandbox", "the pool was closed before the program started"))
            else:
                self._queue.append(task)
                self._mouth.send(b".")
        return task.future

    def close(self) -> None:
        if self.closed or self.pid != os.getpid():
            return
        self.closed = True
        with contextlib.suppress(OSError):
            self._mouth.send(b".")
        if threading.current_thread() is not self._thread:  # a collected Pool may be finalised anywhere
            self._thread.join()

    def _loop(self) -> None:
        try:
            while not self.closed:
                self._dispatch()
                busy = any(p.tasks or not p.ready_at for p in self._parents.values())
                for key, _ in self._selector.select(5.0 if busy else None):
                    if key.data is None:
                        with contextlib.suppress(BlockingIOError):
                            self._ear.recv(4096)
                    else:
                        self._receive(key.data)
                now = time.monotonic()
                for parent in [p for p in self._parents.values() if p.overdue(now)]:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(parent.process.pid, signal.SIGKILL)
                    self._lose(parent, "hung and was stopped")
        finally:
            with self._gate:
                self.closed = True
                self._mouth.close()
            for parent in self._parents.values():
                with contextlib.suppress(OSError):
                    parent.socket.shutdown(socket.SHUT_RDWR)  # all begin to end before the first is waited for
            for parent in list(self._parents.values()):
                self._lose(parent, "was closed")
            while self._queue:
                _answer(self._queue.popleft(), Run("sandbox", "the pool was closed before the program started"))
            self._selector.close()
            self._ear.close()

    def _dispatch(self) -> None:
        running = sum(len(p.tasks) for p in self._parents.values())
        while self._queue and running < self.workers:
            task = self._queue.popleft()
            if not task.future.set_running_or_notify_cancel():
                continue
            number = next(self._numbers)
            try:
                if task.library not in self._parents:
                    parent = self._parents[task.library] = _Parent(task.library, self.without)
                    self._selector.register(parent.socket, selectors.EVENT_READ, parent)
                parent = self._parents[task.library]
                task.sent = time.monotonic()
                parent.tasks[number] = task
                parent.socket.sendall(pack({"id": number, "program": task.job.program, "files": dict(task.job.files),
                                            "limits": asdict(task.limits)}))
                running += 1
            except OSError as error:
                found = self._parents.get(task.library)
                if found is None:
                    _answer(task, Run("sandbox", f"a warm parent cannot be started: {error}"))
                else:
                    self._lose(found, f"cannot be reached ({error})")

    def _receive(self, parent: _Parent) -> None:
        try:
            data = parent.socket.recv(_MIB)
        except OSError:
            data = b""
        if not data:
            self._lose(parent, "ended")
            return
        for head, parts in parent.frames.feed(data):
            if head.get("ready"):
                parent.ready_at = time.monotonic()
                parent.layers, parent.missing = tuple(head["layers"]), head["missing"]
            else:
                _answer(task := parent.tasks.pop(head["id"]), _read_run(head, parts, parent, task.limits))

    def _lose(self, parent: _Parent, how: str) -> None:
        self._parents.pop(parent.library, None)
        self._selector.unregister(parent.socket)
        last = parent.end()
        for task in parent.tasks.values():
            _answer(task, Run("sandbox", f"the warm parent for '{task.library}' {how}: {last}; run the program again"))


def _answer(task: _Task, run: Run) -> None:
    with contextlib.suppress(Exception):  # cancelled meanwhile: nobody waits
        task.future.set_result(run)


def _read_run(head: dict[str, Any], parts: list[bytes], parent: _Parent, limits: Limits) -> Run:
    stdout, stderr = (part.decode("utf-8", errors="replace") for part in parts[:2])
    model, unread, error = parts[2:]
    common: dict[str, Any] = {"stdout": stdout, "stderr": stderr, "seconds": head["seconds"],
                              "n_solves": head["solves"], "layers": parent.layers}
    if parent.missing:
        return Run("sandbox", f"cannot be run here: {parent.missing[0]}; install it (orpipe doctor says how)", **common)
    if head["fault"]:
        return Run("sandbox", head["fault"], **common)
    try:
        common["captured"] = Captured.decode(model) if model else None
        report = json.loads(error) if error else {}
        common["exception"], common["traceback"] = (str(report.get(key, "")) for key in ("type", "traceback"))
        message = str(report.get("message", ""))
    except (ParseError, ValueError, AttributeError, RecursionError) as fault:
        return Run("crash", str(fault), **common)
    ended: dict[str, tuple[Outcome, str]] = {
        "timeout": ("timeout", f"not finished after {limits.seconds:g} s"),
        "output": ("output", f"printed more than {limits.output} bytes"),
        "channel": ("crash", "wrote to the result channel"),
        "closed": ("sandbox", "the pool was closed while the program ran"),
    }
    if head["end"] in ended:
        outcome, message = ended[head["end"]]
    elif os.WIFSIGNALED(head["status"]):
        outcome, message = _signalled(os.WTERMSIG(head["status"]), head["cpu"], stderr, limits)
    elif error:
        outcome = "memory" if report.get("memory") is True else "exception"
    elif head["end"] != "reached":
        outcome, message = "crash", f"left with exit code {os.waitstatus_to_exitcode(head['status'])} before its end"
    elif model:
        outcome = "ok"
    elif unread:
        outcome, message = "unsupported", unread.decode(errors="replace")
    else:
        outcome, message = "no model", "ended without solving a model"
    return Run(outcome, message, **common)


_NO_MEMORY = re.compile(r"bad_alloc|MemoryError|Cannot allocate memory|[Oo]ut of memory|failed to map segment")


def _signalled(number: int, cpu: float, stderr: str, limits: Limits) -> tuple[Outcome, str]:
    name = signal.Signals(number).name
    if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu >= int(limits.seconds) + 2):
        return "timeout", f"used {cpu:.0f} s of processor time"
    if number == signal.SIGKILL or _NO_MEMORY.search(stderr):
        return "memory", f"ended by {name} for lack of memory"
    return "crash", f"ended by {name}"

