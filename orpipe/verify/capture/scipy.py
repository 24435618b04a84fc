"""scipy: linprog and milp are handed the model as arrays and solve it themselves (HiGHS inside, one thread).

What else scipy.optimize minimises is not linear as it stands: it is named, not taken.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from orpipe.errors import Unsupported
from orpipe.verify.capture import Captured, hook, library, recorded
from orpipe.verify.logic import Logic

if TYPE_CHECKING:
    import scipy.sparse as sp

library("scipy", words=("optimize", "linprog", "milp"), preload=("scipy.optimize",), rehearsal="""
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
A = np.array([[1, 2, 0], [0, 1, 3.5]])
r = linprog([-1, -2, 3], A_ub=A, b_ub=[4, 5], A_eq=[[1, 1, 1]], b_eq=[2], bounds=[(0, 3), (0, None), (0, 9)])
print("optimal_value =", r.fun if r.success else r.status)
r = milp(np.array([-1, -2, 3]), constraints=LinearConstraint(A, ub=[4, 5]), integrality=[1, 1, 0], bounds=Bounds(0, 3))
print("optimal_value =", r.fun, r.x, r.message)
""")

_NOT_LINEAR = ("minimize", "differential_evolution", "dual_annealing", "shgo", "basinhopping", "brute", "direct",
               "quadratic_assignment")


@hook("scipy.optimize")
def patch(optimize: ModuleType) -> None:
    readers: dict[str, Callable[..., Captured]] = {
        "linprog": read_linprog, "milp": read_milp, "linear_sum_assignment": read_assignment}
    readers |= {name: functools.partial(_refuse, name) for name in _NOT_LINEAR}
    for name, read in readers.items():
        recorded(optimize, name, "scipy", read)


def _refuse(name: str, *_: Any, **__: Any) -> Captured:
    raise Unsupported(f"scipy: {name}() is not given a linear model")


def read_linprog(c: Any, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None,
                 bounds: Any = (0, None), method: Any = "highs", callback: Any = None, options: Any = None,
                 x0: Any = None, integrality: Any = None) -> Captured:
    """min c @ x with A_ub @ x <= b_ub and A_eq @ x == b_eq, after scipy's own reading of its arguments."""
    import scipy.sparse as sp
    from scipy.optimize._linprog_util import _clean_inputs, _LPProblem

    lp = _clean_inputs(_LPProblem(c, A_ub, b_ub, A_eq, b_eq, bounds, None, integrality))
    matrix = sp.vstack([sp.csr_array(lp.A_ub), sp.csr_array(lp.A_eq)], format="csr")
    lower, upper = np.append(np.full(len(lp.b_ub), -np.inf), lp.b_eq), np.append(lp.b_ub, lp.b_eq)
    return _model("linprog", lp.c, matrix, lower, upper, lp.bounds, 0 if integrality is None else integrality)


def read_milp(c: Any, *, integrality: Any = None, bounds: Any = None, constraints: Any = None,
              options: Any = None) -> Captured:
    """min c @ x with lb <= A @ x <= ub for each constraint, after scipy's own reading of its arguments."""
    import scipy.sparse as sp
    from scipy.optimize._milp import _milp_iv

    cost, kinds, lower, upper, indptr, indices, data, row_lower, row_upper, _ = _milp_iv(
        c, integrality, bounds, constraints, None)
    matrix = sp.csc_array((data, indices, indptr), shape=(len(row_lower), len(cost))).tocsr()
    return _model("milp", cost, matrix, row_lower, row_upper, np.column_stack([lower, upper]), kinds)


def read_assignment(cost_matrix: Any, maximize: bool = False) -> Captured:
    """A binary for each finite entry; each line of the shorter side is taken once, of the longer at most once."""
    import scipy.sparse as sp

    costs = np.asarray(cost_matrix, float)
    places = np.argwhere(np.isfinite(costs))
    n, (m_rows, m_columns) = len(places), costs.shape
    shape = (n, m_rows), (n, m_columns)
    ones = [sp.csr_array((np.ones(n), (np.arange(n), places[:, axis])), shape=shape[axis]).T for axis in (0, 1)]
    shorter = min(m_rows, m_columns)
    exactly = np.repeat([m_rows == shorter, m_columns == shorter], [m_rows, m_columns])
    base = _model("linear_sum_assignment", costs[places[:, 0], places[:, 1]], sp.vstack(ones, format="csr"),
                  np.where(exactly, 1.0, -np.inf), np.ones(m_rows + m_columns), np.array([(0.0, 1.0)] * n), 1)
    return dataclasses.replace(base, maximize=bool(maximize), columns=tuple(f"x[{i},{j}]" for i, j in places))


def _model(interface: str, cost: np.ndarray, matrix: sp.csr_array, row_lower: np.ndarray, row_upper: np.ndarray,
           bounds: np.ndarray, integrality: Any) -> Captured:
    n = len(cost)
    kinds = np.broadcast_to(np.asarray(integrality), n)
    lower, upper = bounds.reshape(n, 2).T.astype(float)
    parted = kinds >= 2  # 2: semi-continuous, 3: semi-integer
    base = Captured.of(
        "scipy", interface, maximize=False, offset=0.0, columns=[f"x[{k}]" for k in range(n)],
        rows=[f"r[{i}]" for i in range(len(row_lower))], cost=cost,
        lower=np.where(parted, np.minimum(lower, 0), lower), upper=np.where(parted, np.maximum(upper, 0), upper),
        integer=(kinds == 1) | (kinds == 3), row_lower=row_lower, row_upper=row_upper, indptr=matrix.indptr,
        indices=matrix.indices, data=matrix.data)
    if not parted.any():
        return base
    logic = Logic(base)
    for k in np.flatnonzero(parted).tolist():
        logic.about("semi-continuous variable", f"x[{k}]").semicontinuous(k, float(lower[k]), float(upper[k]))
    return logic.captured()
