"""The plan of test_capture_more.py in python-mip, which has no ranged rows: `drift` is two rows."""

from mip import INF, INTEGER, MAXIMIZE, Model, xsum

goods = ["oak", "elm"]
profit = {"oak": 3.1, "elm": 2.0}

m = Model("plan", sense=MAXIMIZE, solver_name="GRB")
m.verbose = 0
make = {g: m.add_var(name=f"make[{g}]", var_type=INTEGER, lb=int(g == "elm"), ub=7) for g in goods}
hire = m.add_var(name="hire", lb=-INF)
buy = m.add_var(name="buy", ub=12.5)
m += xsum(make[g] for g in goods) == hire + buy + 1, "balance"
m += hire - make["elm"] >= -3, "drift_low"
m += hire - make["elm"] <= 4.5, "drift_high"
m += 2 * make["oak"] + 0.1 * make["elm"] <= 11.3, "wood"
m.objective = xsum(profit[g] * make[g] for g in goods) - 0.5 * hire - 1.2 * buy + 10.25
m.optimize(max_seconds=10)
print("optimal_value =", m.objective_value)
