"""What SCIP prints on stderr becomes the answer's message; the user's stderr stays empty."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import ortools
import pytest

from orpipe.problem import Problem
from orpipe.solve import Answer, Outcome, settle, solver
from orpipe.testing.bench_solvers import problem
from orpipe.testing.solver_suite import model
from orpipe_solvers._ortools import BuilderSolver

SMALL = model([1], [(1, {0: 1}, None)])


def scip_library() -> ctypes.CDLL:
    found = list((Path(ortools.__file__).parent / ".libs").glob("libscip.so*"))
    if not found:
        pytest.skip("this OR-Tools has no SCIP library of its own")
    return ctypes.CDLL(str(found[0]))


def test_numerical_trouble_is_the_message_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """Two of the corpus on which SCIP 10 gives up: costs and rows between 1e-3 and 1e5."""
    first, second = (settle(solver("scip"), problem(4, k, False), 5.0) for k in (3, 1351))
    assert capfd.readouterr() == ("", "")
    if first.outcome is Outcome.ERROR:
        assert first.message == "UNKNOWN_STATUS; (node 1) unresolved numerical troubles in LP 2 cannot be dealt with"
    if second.outcome is Outcome.INFEASIBLE_OR_UNBOUNDED:
        assert "with a zero objective error: UNKNOWN_STATUS; (node 1) unresolved numerical troubles" in second.message


def test_what_is_printed_in_a_solve_is_told_once_and_in_its_own_thread(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    library, honest, gate = scip_library(), BuilderSolver.run, threading.Barrier(2)

    def run(self: BuilderSolver, p: Problem, *given: object) -> Answer:
        for line in (f"[a.c:1] ERROR: trouble {p.name}\n", "[b.c:22] ERROR: Error <-6> in function call\n"):
            library.SCIPmessagePrintError(line[:9].encode())  # in pieces, as SCIP does
            gate.wait()
            library.SCIPmessagePrintError(line[9:].encode())
        return honest(self, p, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(BuilderSolver, "run", run)
    told: dict[str, str] = {}

    def work(name: str) -> None:
        told[name] = solver("scip").solve(model([1], [(1, {0: 1}, None)], name=name)).message

    threads = [threading.Thread(target=work, args=(name,)) for name in "pq"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == {"p": "trouble p", "q": "trouble q"}
    monkeypatch.undo()
    assert solver("scip").solve(SMALL).message == "" and capfd.readouterr() == ("", "")
