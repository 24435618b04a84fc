"""HiGHS through highspy's array interface: one thread, gap 0, a new Highs object for every solve.

A Highs object is never reused: its LP time limit counts the seconds of earlier runs.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from functools import cached_property
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from orpipe.errors import ParseError, Unsupported
from orpipe.exact_lp import At, Basis
from orpipe.problem import Problem
from orpipe.roles import settings
from orpipe.solve import Answer, Outcome, Solver, agree, out_of_range

_STATUS: Any = highspy.HighsModelStatus  # its stubs lack members
_OUTCOMES = {
    _STATUS.kOptimal: Outcome.OPTIMAL,
    _STATUS.kInfeasible: Outcome.INFEASIBLE,
    _STATUS.kUnbounded: Outcome.UNBOUNDED,
    _STATUS.kUnboundedOrInfeasible: Outcome.INFEASIBLE_OR_UNBOUNDED,
}
_LIMITS = {_STATUS.kTimeLimit, _STATUS.kIterationLimit, _STATUS.kSolutionLimit, _STATUS.kMemoryLimit,
           _STATUS.kInterrupt, _STATUS.kHighsInterrupt, _STATUS.kObjectiveBound, _STATUS.kObjectiveTarget}
_AT = np.zeros(5, np.int8)  # by the number of HiGHS' status
for _status, _at in (("kBasic", At.BASIC), ("kLower", At.LOWER), ("kUpper", At.UPPER), ("kZero", At.FREE), ("kNonbasic", At.LOWER)):
    _AT[getattr(highspy.HighsBasisStatus, _status).value] = _at
_SMALLEST, _LARGEST, _INFINITE = 1e-12, 1e15, 1e20
_FEASIBLE = 2  # primal_solution_status


class Highs(Solver):
    family = "highs"
    package = "highspy"

    def __init__(self, name: str, settings: Mapping[str, float | int | str]) -> None:
        self.name = name
        self.settings = settings
        self.linear_only = settings.get("solver") == "ipm"  # below a MILP's nodes HiGHS uses the simplex method anyway

    def accepts(self, problem: Problem) -> str | None:
        if self.linear_only and problem.integer.any():
            return "integer columns"
        return out_of_range(problem, smallest=_SMALLEST, largest=_LARGEST, infinite=_INFINITE)

    def run(self, problem: Problem, time_limit: float, nodes: int | None, start: np.ndarray | None) -> Answer:
        if not problem.n_vars:
            return _without_columns(problem)
        h = highspy.Highs()
        given = {**self.settings, "time_limit": float(time_limit)} | ({} if nodes is None else {"mip_max_nodes": nodes})
        for option, value in given.items():
            if h.setOptionValue(option, value) != highspy.HighsStatus.kOk:
                raise Unsupported(f"this HiGHS has no option {option} = {value}; install highspy 1.16")
        A, whole = problem.matrix, np.int32
        none = np.zeros(0, whole)
        read = h.passModel(
            problem.n_vars, problem.n_rows, A.nnz, 0, 2, 0, -1 if problem.maximize else 1, float(problem.offset),
            problem.cost, problem.lower, problem.upper, problem.row_lower, problem.row_upper,
            A.indptr.astype(whole), A.indices.astype(whole), A.data, none, none, np.zeros(0),
            problem.integer.astype(whole),
        )
        if read != highspy.HighsStatus.kOk:
            return Answer(Outcome.ERROR, message=f"HiGHS read the model with {read.name}")
        if start is not None:
            h.setSolution(problem.n_vars, np.arange(problem.n_vars, dtype=whole), start)
        if h.run() == highspy.HighsStatus.kError and h.getModelStatus() == _STATUS.kNotset:
            # A scheduler with another number of threads is alive in this thread (someone else's solve).
            highspy.Highs.resetGlobalScheduler(True)
            h.run()
        return _answer(h, problem)


def _answer(h: highspy.Highs, problem: Problem) -> Answer:
    status, info = h.getModelStatus(), h.getInfo()
    has_point = info.primal_solution_status == _FEASIBLE
    point = np.array(h.getSolution().col_value) if has_point else None
    objective = float(info.objective_function_value) if has_point else None
    if status in _LIMITS:
        return Answer(Outcome.LIMIT_WITH_INCUMBENT if has_point else Outcome.LIMIT, objective, point, status.name)
    outcome = _OUTCOMES.get(status, Outcome.ERROR)
    if outcome is not Outcome.OPTIMAL:
        return Answer(outcome, message="" if outcome.proof else status.name)
    if objective is None:
        return Answer(Outcome.ERROR, message="optimal without a point")
    if problem.integer.any():
        bound = float(info.mip_dual_bound)
        if not agree(objective, bound):
            return Answer(Outcome.LIMIT_WITH_INCUMBENT, objective, point, f"stopped with bound {bound:.10g}")
        return Answer(outcome, objective, point)
    return Answer(outcome, objective, point, basis=basis_of(h))


class _Later(Basis):
    """The basis in HiGHS' own copy, read when somebody wants it: turning its statuses into Python's takes a third of the
    time of solving a transportation problem, and most solves are asked for the objective only."""

    def __init__(self, held: Any) -> None:
        object.__setattr__(self, "_held", held)

    @cached_property
    def columns(self) -> np.ndarray:  # type: ignore[override]
        return _AT[[s.value for s in self._held.col_status]]  # type: ignore[attr-defined]

    @cached_property
    def rows(self) -> np.ndarray:  # type: ignore[override]
        return _AT[[s.value for s in self._held.row_status]]  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        return Basis, (self.columns, self.rows)


def basis_of(h: Any) -> Basis | None:
    """The basis of the last run, if it has one."""
    basis = h.getBasis()
    return _Later(basis) if basis.valid else None


def read_mps_file(path: Path) -> Problem:
    """What HiGHS' own parser makes of an MPS file.  Raises ParseError if it fails or warns."""
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    if h.readModel(str(path)) != highspy.HighsStatus.kOk:
        raise ParseError(f"HiGHS warns about {path.name}; read it with orpipe.mps.read_mps to see the line")
    lp = h.getLp()
    A = lp.a_matrix_
    shape = (lp.num_row_, lp.num_col_)
    layout = sp.csc_array if A.format_ == highspy.MatrixFormat.kColwise else sp.csr_array
    integer = [kind == highspy.HighsVarType.kInteger for kind in lp.integrality_] or [False] * lp.num_col_
    return Problem.from_arrays(
        name=lp.model_name_, maximize=lp.sense_ == highspy.ObjSense.kMaximize, offset=lp.offset_,
        matrix=layout((np.array(A.value_), np.array(A.index_, np.int32), np.array(A.start_, np.int32)), shape=shape),
        cost=lp.col_cost_, lower=lp.col_lower_, upper=lp.col_upper_, row_lower=lp.row_lower_, row_upper=lp.row_upper_,
        integer=integer, columns=lp.col_names_, rows=lp.row_names_,
    )


def _without_columns(problem: Problem) -> Answer:
    """HiGHS calls a model without columns empty, whatever its rows; zero activity decides it."""
    if (problem.row_lower > 0).any() or (problem.row_upper < 0).any():
        return Answer(Outcome.INFEASIBLE, message="no columns")
    basis = Basis(np.zeros(0, np.int8), np.full(problem.n_rows, At.BASIC, np.int8))
    return Answer(Outcome.OPTIMAL, float(problem.offset), np.zeros(0), "no columns", basis)


@contextmanager
def silent_stdout() -> Iterator[None]:
    """What libraries print before they can be told not to goes nowhere; stdout is for data."""
    try:
        kept = os.dup(1)
    except OSError:  # no stdout at all
        yield
        return
    sys.stdout.flush()
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        try:
            with redirect_stdout(nowhere):
                yield
            sys.stdout.flush()
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(kept, 1)
            os.close(kept)


with silent_stdout():  # the first Highs of a process prints two lines
    highspy.Highs()
if hasattr(os, "register_at_fork"):
    # A child forked while a threaded scheduler is alive would wait for ever for threads it does not have.
    os.register_at_fork(before=lambda: highspy.Highs.resetGlobalScheduler(True))

SOLVERS = tuple(Highs(name, settings(name)) for name in ("highs", "highs_plain", "highs_ipm"))
