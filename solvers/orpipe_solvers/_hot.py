"""One LP whose column bounds change between runs, each run starting from the last basis: what branch and bound needs.

Nothing here is trusted: callers round the multipliers and check them in exact arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import highspy
import numpy as np

from orpipe.exact_lp import Basis
from orpipe.problem import Problem
from orpipe_solvers.highs import basis_of

_STATUS: Any = highspy.HighsModelStatus
_OPTIONS: dict[str, float | int | str] = {
    "output_flag": False, "threads": 1, "solver": "simplex", "presolve": "off", "simplex_scale_strategy": 0,
    "primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9, "small_matrix_value": 1e-12,
}


@dataclass(frozen=True, eq=False)
class Node:
    """One LP solved in floats.  optimal: objective, point (n,), duals (m,); infeasible: duals is a Farkas ray up to its
    sign, or None where HiGHS has none."""

    status: Literal["optimal", "infeasible", "other"]
    objective: float = 0.0
    point: np.ndarray | None = None
    duals: np.ndarray | None = None


def _scale(peak: np.ndarray) -> np.ndarray:
    """1 for numbers up to a million or so, else a power of two that brings them to about a thousand."""
    return np.where(peak > 2.0**24, 2.0 ** (np.floor(np.log2(np.maximum(peak, 1.0))) - 10), 1.0)


class HotLP:
    """The relaxation of `problem` (minimised, as it stands); no time limit, as HiGHS counts it over all runs.

    Rows and costs of very long numbers are given to HiGHS divided by powers of two, as its tolerances are absolute."""

    def __init__(self, problem: Problem) -> None:
        h: Any = highspy.Highs()  # its stubs lack members
        self._h = h
        for option, value in _OPTIONS.items():
            h.setOptionValue(option, value)
        A, whole = problem.matrix, np.int32
        none = np.zeros(0, whole)
        row_of = np.repeat(np.arange(problem.n_rows), np.diff(A.indptr))
        peak = np.zeros(problem.n_rows)
        np.maximum.at(peak, row_of, np.abs(A.data))
        self._row_scale, self._cost_scale = _scale(peak), float(_scale(np.abs(problem.cost).max(initial=0.0, keepdims=True))[0])
        self._columns = np.arange(problem.n_vars, dtype=whole)
        h.passModel(
            problem.n_vars, problem.n_rows, A.nnz, 0, 2, 0, -1 if problem.maximize else 1, 0.0,
            problem.cost / self._cost_scale, problem.lower, problem.upper, problem.row_lower / self._row_scale,
            problem.row_upper / self._row_scale, A.indptr.astype(whole), A.indices.astype(whole), A.data / self._row_scale[row_of],
            none, none, np.zeros(0), np.zeros(problem.n_vars, whole),
        )

    def run(self, lower: np.ndarray, upper: np.ndarray) -> Node:
        h = self._h
        h.changeColsBounds(len(self._columns), self._columns, lower, upper)
        if h.run() == highspy.HighsStatus.kError and h.getModelStatus() == _STATUS.kNotset:
            highspy.Highs.resetGlobalScheduler(True)
            h.run()
        status = h.getModelStatus()
        for scaling in (0, 2):  # a hot start that ends nowhere is tried again from the slack basis
            if status != _STATUS.kUnknown:
                break
            h.setOptionValue("simplex_scale_strategy", scaling)
            h.clearSolver()
            h.run()
            status = h.getModelStatus()
            h.setOptionValue("simplex_scale_strategy", 0)
        if status == _STATUS.kOptimal:
            solution = h.getSolution()
            return Node("optimal", float(h.getInfo().objective_function_value) * self._cost_scale, np.array(solution.col_value),
                        np.array(solution.row_dual) * (self._cost_scale / self._row_scale))
        if status in (_STATUS.kInfeasible, _STATUS.kUnboundedOrInfeasible):
            _, found, ray = h.getDualRay()
            return Node("infeasible", duals=np.array(ray) / self._row_scale if found else None)
        return Node("other")

    def basis(self) -> Basis | None:
        """Of the last run."""
        return basis_of(self._h)

    def tableau(self, wanted: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """(column, row multipliers (m,)) of the tableau rows of basic columns where `wanted` (n,) is true."""
        h = self._h
        found: list[tuple[int, np.ndarray]] = []
        if not wanted.any() or not h.getInfo().simplex_iteration_count:
            return found  # HiGHS 1.16 crashes on getBasicVariables if it factored no basis
        _, basic = h.getBasicVariables()
        for row, column in enumerate(np.array(basic).tolist()):
            if column >= 0 and wanted[column]:
                _, weights = h.getBasisInverseRow(row)
                found.append((column, np.array(weights) / self._row_scale))
        return found


class AimedLP(HotLP):
    """A HotLP whose objective changes too.  `problem` is read for its rows alone."""

    def aimed(self, cost: np.ndarray, maximize: bool, lower: np.ndarray, upper: np.ndarray, seconds: float) -> Node:
        """"other" also where the LP is unbounded or `seconds` are over."""
        h = self._h
        self._cost_scale = float(_scale(np.abs(cost).max(initial=0.0, keepdims=True))[0])
        h.changeColsCost(len(self._columns), self._columns, cost / self._cost_scale)
        h.changeObjectiveSense(highspy.ObjSense.kMaximize if maximize else highspy.ObjSense.kMinimize)
        h.setOptionValue("time_limit", h.getRunTime() + seconds)
        return self.run(lower, upper)
