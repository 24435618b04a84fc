"""cvxpy: the model is read in the standard form that cvxpy hands to HiGHS; linear problems are then solved by HiGHS.

Convex pieces (abs, max, norms of order 1 and infinity) stand in that form as cvxpy's own auxiliary variables and rows.
"""

from __future__ import annotations

import inspect
import itertools
from types import ModuleType
from typing import Any

import numpy as np

from orpipe.errors import Unsupported
from orpipe.verify.capture import RECORDER, Captured, hook, library

library("cvxpy", words=("cvxpy",), preload=("cvxpy", "highspy"), rehearsal="""
import cvxpy as cp
import numpy as np
y, x = cp.Variable(3, boolean=True, name="y"), cp.Variable((3, 4), nonneg=True, name="x")
cost = cp.sum(cp.multiply(np.array([7, 8.5, 6]), y)) + cp.sum(1.5 * x)
rows = [cp.sum(x, axis=0) == 4] + [cp.sum(x[i, :]) <= 9.5 * y[i] for i in range(3)]
for p in (cp.Problem(cp.Minimize(cost), rows), cp.Problem(cp.Maximize(-cp.sum(x)), [x >= 1])):
    p.solve()
    print(p.status, p.value, x.value)
""")


@hook("cvxpy")
def patch(cvxpy: ModuleType) -> None:
    problem = cvxpy.Problem
    solve = problem.solve
    signature = inspect.signature(problem._solve)
    registered = problem.REGISTERED_SOLVE_METHODS

    def solve_here(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = "" if kwargs.get("method") is None else str(kwargs["method"])
        bound = signature.bind_partial(self, *args, **{k: v for k, v in kwargs.items() if k != "method"}).arguments
        for name in ("gp", "qcp", "nlp"):
            given = name if bound.get(name) or bound.get("kwargs", {}).get(name) else given
        if given in registered:
            given = f"method '{given}'"
        linear: list[Captured] = []

        def read_here() -> Captured:
            if given:
                raise Unsupported(f"cvxpy: solved as {given}, not as a linear model")
            linear.append(read(self))
            return linear[0]

        with RECORDER.solving("cvxpy", read_here):
            # The compilation is kept by cvxpy: solving for the same solver starts from it.
            return solve(self, solver=cvxpy.HIGHS) if linear else solve(self, *args, **kwargs)

    problem.solve = solve_here


def read(problem: Any) -> Captured:
    """Raises Unsupported where the standard form has more than rows, bounds and integrality."""
    import cvxpy
    import scipy.sparse as sp
    from cvxpy.error import SolverError

    try:
        data, *_ = problem.get_problem_data(cvxpy.HIGHS)
    except SolverError as error:
        kind = "a mixed-integer quadratic problem" if problem.is_mixed_integer() and problem.is_qp() else (
            "not linear" if problem.is_dcp() else "not convex")
        raise Unsupported(f"cvxpy: the model is {kind} ({str(error).splitlines()[0]})") from None
    if data.get("P") is not None:
        raise Unsupported("cvxpy: the model has a quadratic objective")
    form, dims = data["param_prob"], data["dims"]
    if dims.exp or dims.soc or dims.psd or dims.p3d or getattr(dims, "pnd", None):
        raise Unsupported("cvxpy: the model has cones")
    names = _names(form)
    n, m = len(data["c"]), dims.zero + dims.nonneg
    offset = form.apply_parameters()[1]
    sign = -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0
    matrix = sp.csr_array(data["A"]) if m else sp.csr_array((0, n))
    right = np.asarray(data["b"], float).reshape(m)
    lower, upper = (
        np.full(n, end) if data.get(name) is None else np.array(data[name], float)
        for name, end in (("lower_bounds", -np.inf), ("upper_bounds", np.inf)))
    binary, integer = (np.isin(np.arange(n), data[name]) for name in ("bool_vars_idx", "int_vars_idx"))
    lower[binary], upper[binary] = np.maximum(lower[binary], 0), np.minimum(upper[binary], 1)
    return Captured.of(
        "cvxpy", "cvxpy", maximize=sign < 0, offset=sign * float(offset), columns=names,
        rows=[f"r[{i}]" for i in range(m)], cost=sign * np.asarray(data["c"], float), lower=lower, upper=upper,
        integer=binary | integer, row_lower=np.where(np.arange(m) < dims.zero, right, -np.inf), row_upper=right,
        indptr=matrix.indptr, indices=matrix.indices, data=matrix.data)


def _names(form: Any) -> list[str]:
    """The columns' names: x, or x[i,j] column after column."""
    names: dict[int, str] = {}
    for v in form.variables:
        start = form.var_id_to_col[v.id]
        places = itertools.product(*(range(size) for size in reversed(v.shape)))
        for k, place in enumerate(places):
            index = ",".join(map(str, reversed(place)))
            names[start + k] = f"{v.name()}[{index}]" if index else v.name()
    return [names[k] for k in sorted(names)]
