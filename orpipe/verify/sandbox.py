"""Running programs: a Pool of confined child processes that tells what became of each program and which model it built.

A Pool starts, when first needed, one warm parent per library (zygote.py), in an interpreter of its own: never a fork
of this process, whose threads and solvers would not survive it.  Each program runs in a forked child with an empty
environment, a work folder that holds only the files given, and every layer of isolation.py that the machine offers.

Nothing that a program prints decides anything here: callers judge the captured model.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path

from orpipe.errors import NotFound, UsageError
from orpipe.verify.capture import discover
from orpipe.verify.crew import Promise
from orpipe.verify.isolation import WHAT, Layer, available_layers, isolation_level
from orpipe.verify.outcome import Job, Limits, Outcome, Run
from orpipe.verify.pump import Pump

__all__ = ["Job", "Layer", "Limits", "Outcome", "Pool", "Run", "available_layers", "isolation_level"]


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
        self._after_fork()
        _ALL.add(self)

    def _after_fork(self) -> None:
        """Of an inherited pool, thread and locks stayed in the parent."""
        self._pump: Pump | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, job: Job) -> Promise[Run]:
        """Queue a job; the Promise's result is a Run, never an exception.  Raises UsageError for a bad file name."""
        for name in job.files:
            parts = Path(name).parts
            if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name or name == "program.py":
                raise UsageError(f"'{name}' is no file name for a work folder; use a relative one without '..'")
        with self._lock:
            if self._pump is None or self._pump.closed:
                self._pump = Pump(self.workers, self.without, self.limits.disk)
                weakref.finalize(self, self._pump.close)
            return self._pump.submit(job, job.limits or self.limits)

    def run(self, program: str, files: Mapping[str, str] | None = None, limits: Limits | None = None) -> Run:
        return self.submit(Job(program, files or {}, limits)).result()

    def run_many(self, jobs: Iterable[Job]) -> list[Run]:
        """Runs in the order of the jobs."""
        return [promise.result() for promise in [self.submit(job) for job in jobs]]

    def warm(self, *libraries: str) -> dict[str, Run]:
        """Start the warm parents of these libraries (default: all) and run an empty program in each."""
        names = libraries or tuple(discover())
        runs = self.run_many(Job("", library=name) for name in names)
        return dict(zip(names, runs, strict=True))

    def close(self) -> None:
        """End what runs; the next job starts anew.  If this is interrupted, calling it again goes on."""
        pump = self._pump  # stays until the next job, or an interrupted close would lose it
        if pump is not None:
            pump.close()


_ALL: weakref.WeakSet[Pool] = weakref.WeakSet()


def _forked() -> None:
    for pool in list(_ALL):
        pool._after_fork()


# In the child, before any of its threads can call: a check at the first call would race with another's.
os.register_at_fork(after_in_child=_forked)
