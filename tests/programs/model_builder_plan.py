"""The plan of test_capture.py with OR-Tools' model builder."""

from ortools.linear_solver.python import model_builder

goods = ["oak", "elm"]
profit = {"oak": 3.1, "elm": 2.0}

m = model_builder.Model()
make = {g: m.new_int_var(0, 7, f"make[{g}]") for g in goods}
hire = m.new_num_var(float("-inf"), float("inf"), "hire")
buy = m.new_num_var(0, 12.5, "buy")
m.add(sum(make[g] for g in goods) == hire + buy + 1, name="balance")
m.add_linear_constraint(hire - make["elm"], -3, 4.5, name="drift")
m.add(2 * make["oak"] + 0.1 * make["elm"] <= 11.3, name="wood")
m.maximize(sum(profit[g] * make[g] for g in goods) - 0.5 * hire - 1.2 * buy + 10.25)
solver = model_builder.Solver("highs")
if solver.solve(m) == model_builder.SolveStatus.OPTIMAL:
    print("optimal_value =", solver.objective_value)
