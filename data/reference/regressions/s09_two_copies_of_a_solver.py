import pulp  # noqa: F401
from ortools.math_opt.python import mathopt

m = mathopt.Model(name="boxes")
x = m.add_variable(lb=0, ub=10, name="boxes")
m.add_linear_constraint(2 * x >= 8, name="need")
m.minimize(2 * x)
result = mathopt.solve(m, mathopt.SolverType.HIGHS)
print("optimal_value =", result.objective_value())
