"""Comparisons in a process of their own, which is killed when a solver does not keep to its time.

    with Guard() as guard:
        guard.compare(a, b, budget=5.0)

The strongest verdict that the process had reported is what remains.  One process, started when first needed, serves all
comparisons; after a kill the next one starts another.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from orpipe.problem import Problem
from orpipe.verify.equivalence.engine import BUDGET, Naming, compare_problems
from orpipe.verify.equivalence.evidence import Comparison
from orpipe.verify.equivalence.redraw import Redraw
from orpipe.verify.verdict import Verdict

_GRACE = 1.0  # seconds past the budget
_START_SECONDS = 60.0


class Guard:
    """Not thread-safe: one for each thread.  Use as a context manager or call `close`."""

    def __init__(self) -> None:
        self._link: Connection | None = None
        self._process: BaseProcess | None = None

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def compare(self, a: Problem, b: Problem, *, budget: float = BUDGET, names: Naming = "trusted", scale_free: bool = False,
                accept_probes: bool = False, labels: tuple[str, str] = ("A", "B"), redraws: Sequence[Redraw] = ()) -> Comparison:
        """As compare_problems, and over by budget + 1 s whatever a solver does."""
        link, began = self._started(), time.perf_counter()
        settings = {"budget": budget, "names": names, "scale_free": scale_free, "accept_probes": accept_probes, "labels": labels,
                    "redraws": tuple(redraws)}
        reached: Comparison | None = None
        why = f"the budget of {budget:g} s is spent (stopped from outside)"
        try:
            link.send((a, b, settings))
            while True:
                rest = budget + _GRACE - (time.perf_counter() - began)
                if rest <= 0 or not link.poll(rest):
                    break
                last, found = link.recv()
                if last:
                    return found
                reached = found
        except (EOFError, OSError):
            why = "our comparing process ended"
        self._kill()
        seconds = time.perf_counter() - began
        if reached is None:
            return Comparison(Verdict.UNDECIDED, "", why, seconds=seconds)
        return Comparison(reached.verdict, reached.method, f"{reached.sentence}; not settled further: {why}", reached.map, reached.witness,
                          reached.direction, {**reached.evidence, "open": why}, seconds, reached.tolerances)

    def close(self) -> None:
        if self._link is not None:
            with contextlib.suppress(OSError):
                self._link.send(None)
        if self._process is not None:
            self._process.join(_GRACE)
        self._kill()

    def _started(self) -> Connection:
        if self._link is not None and self._process is not None and self._process.is_alive():
            return self._link
        context = multiprocessing.get_context("spawn")
        self._link, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), name="orpipe-compare", daemon=True)
        self._process.start()
        theirs.close()
        if not self._link.poll(_START_SECONDS):
            self._kill()
            raise TimeoutError("the comparing process did not start")
        self._link.recv()
        return self._link

    def _kill(self) -> None:
        if self._process is not None:
            if self._process.is_alive():
                self._process.kill()
            self._process.join()
            self._process.close()
        if self._link is not None:
            self._link.close()
        self._link = self._process = None


def _serve(link: Any) -> None:
    from orpipe.solve import solvers

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    solvers()  # imports the libraries before the first clock starts
    link.send("ready")
    with contextlib.suppress(EOFError, OSError):
        while (task := link.recv()) is not None:
            a, b, settings = task
            link.send((True, compare_problems(a, b, report=lambda found: link.send((False, found)), **settings)))
