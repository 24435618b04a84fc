"""One HiGHS call with nothing around it: what `orpipe.testing.bench` holds our solve path against."""

from __future__ import annotations

import highspy
import numpy as np

from orpipe.problem import Problem
from orpipe_solvers import highs as _  # noqa: F401 - swallows the banner of the first Highs


def highs_objective(problem: Problem) -> float:
    """passModel and run, one thread, zero gap, every other option as HiGHS has it; only the objective is read."""
    h = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0)):
        h.setOptionValue(option, value)
    A, whole = problem.matrix, np.int32
    none = np.zeros(0, whole)
    h.passModel(
        problem.n_vars, problem.n_rows, A.nnz, 0, 2, 0, -1 if problem.maximize else 1, float(problem.offset),
        problem.cost, problem.lower, problem.upper, problem.row_lower, problem.row_upper,
        A.indptr.astype(whole), A.indices.astype(whole), A.data, none, none, np.zeros(0), problem.integer.astype(whole),
    )
    h.run()
    return float(h.getInfo().objective_function_value)
