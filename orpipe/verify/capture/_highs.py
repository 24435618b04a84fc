"""Answering a solve from a captured model, for libraries whose own solver is absent or unsound.  One thread, no gap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from orpipe.verify.capture import Captured

Status = Literal["optimal", "infeasible", "unbounded", "limit"]


@dataclass(frozen=True, eq=False)
class Answered:
    """values (n,), activity (m,) and, without integers, duals (m,) and reduced_costs (n,): of an optimum only."""

    status: Status
    seconds: float
    objective: float = math.nan
    values: np.ndarray | None = None
    activity: np.ndarray | None = None
    duals: np.ndarray | None = None
    reduced_costs: np.ndarray | None = None


def answer(model: Captured, seconds: float = math.inf) -> Answered:
    import highspy
    import scipy.sparse as sp

    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    if 0 < seconds < 1e6:
        h.setOptionValue("time_limit", float(seconds))
    n, m, i = len(model.columns), len(model.rows), np.int32
    matrix = sp.csr_array((model.data, model.indices, model.indptr), shape=(m, n), copy=True)
    matrix.sum_duplicates()  # HiGHS refuses a row with a column twice
    sense, empty = -1 if model.maximize else 1, np.zeros(0, i)
    passed = h.passModel(n, m, matrix.nnz, 0, 2, 0, sense, model.offset, model.cost, model.lower, model.upper,
                         model.row_lower, model.row_upper, matrix.indptr[:-1].astype(i), matrix.indices.astype(i),
                         matrix.data, empty, empty, np.zeros(0), model.integer.astype(i))
    if passed.name == "kError":
        raise RuntimeError("HiGHS refuses the captured model")
    h.run()
    status = _status(h)
    spent = h.getRunTime()
    if status != "optimal":
        return Answered(status, spent)
    found = h.getSolution()
    values = np.array(found.col_value, float)
    whole = np.round(values)
    values = np.where(model.integer & (np.abs(values - whole) < 1e-5), whole, values) + 0.0
    plain = not model.integer.any()
    return Answered(
        status, spent, h.getInfo().objective_function_value, values, np.array(found.row_value, float),
        np.array(found.row_dual, float) if plain else None, np.array(found.col_dual, float) if plain else None)


def _status(h: Any) -> Status:
    """"Unbounded or infeasible" is told apart by a solve without objective."""
    name = h.getModelStatus().name
    if name == "kUnboundedOrInfeasible":
        for k in range(h.getNumCol()):
            h.changeColCost(k, 0.0)
        h.run()
        name = "kUnbounded" if h.getModelStatus().name == "kOptimal" else h.getModelStatus().name
    known: dict[str, Status] = {"kOptimal": "optimal", "kModelEmpty": "optimal", "kInfeasible": "infeasible",
                                "kUnbounded": "unbounded"}
    return known.get(name, "limit")
