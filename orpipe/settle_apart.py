"""Model files settled in a process of its own: a stop from the keyboard is heard at once, a crash costs one file.

Some solvers sit in C until their time limit and some take Ctrl-C for themselves and report a limit, so the process that
listens to the keyboard must not be the one that solves.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from orpipe.errors import OrpipeError
from orpipe.settle_file import Settled, settle_file
from orpipe.solve import solver


@dataclass(frozen=True)
class _Asked:
    names: tuple[str, ...] | None
    certified: bool
    time_limit: float


class Apart:
    """Settles files one by one; leaving the context ends the process and every program that a solver started in it.

    Entering raises NotFound or EnvironmentError_ for a solver that is not there."""

    def __init__(self, names: Sequence[str] | None, *, certified: bool, time_limit: float) -> None:
        self._asked = _Asked(None if names is None else tuple(names), certified, time_limit)
        self._link: Connection | None = None
        self._process: BaseProcess | None = None

    def __enter__(self) -> Apart:
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def settle(self, path: Path) -> Settled:
        """As `settle_file`; outcome "error" if the process died over it."""
        if self._link is None:
            self._start()
        link, process = self._link, self._process
        assert link is not None and process is not None
        try:
            link.send(path)
            found: Settled = link.recv()
        except (EOFError, ConnectionError):
            process.join()
            code = process.exitcode or 0
            how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"left with exit code {code}"
            self._end()
            return Settled(str(path), "error", message=f"the solving process was {how}; try other --solvers")
        return found

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")  # nothing but orpipe is loaded yet, and a new interpreter takes a second
        self._link, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self._link, self._asked), name="orpipe-solve", daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the child must not hear a Ctrl-C before it has left the group
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 about threads, such as those of a sleeping numpy
                self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        try:
            fault = self._link.recv()
        except EOFError:
            raise OrpipeError("the solving process does not start; see 'orpipe doctor'") from None
        if fault is not None:
            raise fault

    def _end(self) -> None:
        if self._link is not None:
            self._link.close()
        if self._process is not None and self._process.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)  # with what it started
            self._process.kill()
            self._process.join()
        self._link = self._process = None


# -- in the process of its own -----------------------------------------------------------------------------------------
def _work(link: Connection, theirs: Connection, asked: _Asked) -> None:
    os.setpgid(0, 0)
    theirs.close()
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        for name in asked.names or ():
            solver(name)
    except OrpipeError as error:
        link.send(error)
        return
    link.send(None)
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            link.send(settle_file(link.recv(), asked.names, certified=asked.certified, time_limit=asked.time_limit))


def _leave_with_parent() -> None:
    parent: Any = multiprocessing.parent_process()
    wait([parent.sentinel])
    os.killpg(0, signal.SIGKILL)
