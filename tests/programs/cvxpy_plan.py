"""The plan of test_capture_more.py in cvxpy, which has no ranged rows: `drift` is two rows."""

import cvxpy as cp

oak = cp.Variable(integer=True, bounds=[0, 7], name="make[oak]")
elm = cp.Variable(integer=True, bounds=[1, 7], name="make[elm]")
hire, buy = cp.Variable(name="hire"), cp.Variable(bounds=[0, 12.5], name="buy")
rows = [oak + elm == hire + buy + 1, hire - elm >= -3, hire - elm <= 4.5, 2 * oak + 0.1 * elm <= 11.3]
p = cp.Problem(cp.Maximize(3.1 * oak + 2 * elm - 0.5 * hire - 1.2 * buy + 10.25), rows)
p.solve(solver="SCIP")
print("optimal_value =", p.value)
