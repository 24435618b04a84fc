"""highspy: every way to solve ends in the binding's `run`, so one patch sees `run`, `solve`, `optimize`, `minimize`,
`maximize` and `startSolve`; pyomo's and pulp's HiGHS come through here too, under their own record."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from orpipe.errors import Unsupported
from orpipe.verify.capture import RECORDER, Captured, hook, library, recorded

library("highspy", words=("highspy",), preload=("highspy",), rehearsal="""
import highspy
h = highspy.Highs()
h.setOptionValue("output_flag", False)
I, J = ["a", "b", "c"], ["p", "q", "r", "s"]
y = {i: h.addVariable(lb=0, ub=1, type=highspy.HighsVarType.kInteger, name=f"y[{i}]") for i in I}
x = {(i, j): h.addVariable(lb=0, name=f"x[{i},{j}]") for i in I for j in J}
for j in J:
    h.addConstr(sum(x[i, j] for i in I) == 4, name=f"demand[{j}]")
for i in I:
    h.addConstr(sum(x[i, j] for j in J) <= 9.5 * y[i], name=f"capacity[{i}]")
h.minimize(sum(7 * y[i] for i in I) + sum((len(i + j) + 0.5) * x[i, j] for i in I for j in J))
if h.getModelStatus() == highspy.HighsModelStatus.kOptimal:
    print("optimal_value =", h.getInfo().objective_function_value, [h.val(v) for v in x.values()])
""")


@hook("highspy")
def patch(highspy: ModuleType) -> None:
    def read(h: Any, *_: Any, **__: Any) -> Captured:
        lp = h.getLp()
        kind = highspy.HighsVarType
        types = lp.integrality_ or [kind.kContinuous] * lp.num_col_
        odd = {kind.kSemiContinuous: "a semi-continuous column", kind.kSemiInteger: "a semi-integer column"}
        for each in types:
            if each in odd:
                raise Unsupported(f"highspy: the model has {odd[each]}")
        if h.getHessianNumNz():
            raise Unsupported("highspy: the model has a quadratic objective")
        matrix = lp.a_matrix_
        start = np.asarray(matrix.start_, np.int64)
        index, value = np.asarray(matrix.index_, np.int64), np.asarray(matrix.value_, np.float64)
        by_columns = matrix.format_ == highspy.MatrixFormat.kColwise
        arrays = by_rows(start, index, value, lp.num_row_) if by_columns else {
            "indptr": start, "indices": index, "data": value}
        return Captured.of(
            "highspy", "highspy", maximize=lp.sense_ == highspy.ObjSense.kMaximize, offset=lp.offset_,
            columns=lp.col_names_ or [""] * lp.num_col_, rows=lp.row_names_ or [""] * lp.num_row_,
            cost=lp.col_cost_, lower=lp.col_lower_, upper=lp.col_upper_, integer=[t != kind.kContinuous for t in types],
            row_lower=lp.row_lower_, row_upper=lp.row_upper_, **arrays,
        )

    def settle(h: Any, *_: Any, **__: Any) -> None:
        # A second thread count in one process is refused by HiGHS, its default gap stops short of the optimum, and one of its
        # heuristics takes longer than all the rest on small models (10 ms -> 4 ms).
        for option, value in (("threads", 1), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0),
                              ("mip_heuristic_run_feasibility_jump", False)):
            h.setOptionValue(option, value)
        if RECORDER.under_way != "highspy":
            h.setOptionValue("output_flag", False)

    binding = highspy.Highs.__mro__[1]
    recorded(binding, "run", "highspy", read, before=settle)
    quiet = highspy.Highs()  # the first instance of a process prints two lines: here, not in a program's output
    quiet.setOptionValue("output_flag", False)


def by_rows(start: np.ndarray, index: np.ndarray, value: np.ndarray, n_rows: int) -> dict[str, np.ndarray]:
    """Compressed columns as the arrays indptr (n_rows+1,), indices and data of compressed rows, columns ascending."""
    columns = np.repeat(np.arange(len(start) - 1), np.diff(start))
    order = np.argsort(index, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(index.astype(np.int64), minlength=n_rows))])
    return {"indptr": indptr, "indices": columns[order], "data": value[order]}
