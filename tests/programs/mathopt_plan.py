"""The plan of test_capture.py with MathOpt."""

from ortools.math_opt.python import mathopt

goods = ["oak", "elm"]
profit = {"oak": 3.1, "elm": 2.0}

m = mathopt.Model(name="plan")
make = {g: m.add_integer_variable(lb=0, ub=7, name=f"make[{g}]") for g in goods}
hire = m.add_variable(name="hire")
buy = m.add_variable(lb=0, ub=12.5, name="buy")
m.add_linear_constraint(sum(make[g] for g in goods) == hire + buy + 1, name="balance")
m.add_linear_constraint(lb=-3, expr=hire - make["elm"], ub=4.5, name="drift")
m.add_linear_constraint(2 * make["oak"] + 0.1 * make["elm"] <= 11.3, name="wood")
m.maximize(sum(profit[g] * make[g] for g in goods) - 0.5 * hire - 1.2 * buy + 10.25)
result = mathopt.solve(m, mathopt.SolverType.HIGHS)
print("optimal_value =", result.objective_value())
