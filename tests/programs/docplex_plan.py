"""The plan of test_capture_more.py in docplex."""

from docplex.mp.model import Model

goods = ["oak", "elm"]
profit = {"oak": 3.1, "elm": 2.0}

with Model(name="plan") as m:
    make = m.integer_var_dict(goods, lb=[0, 1], ub=7, name="make")
    hire = m.continuous_var(lb=-m.infinity, name="hire")
    buy = m.continuous_var(ub=12.5, name="buy")
    m.add_constraint(m.sum(make) == hire + buy + 1, "balance")
    m.add_range(-3, hire - make["elm"], 4.5, "drift")
    m.add_constraint(2 * make["oak"] + 0.1 * make["elm"] <= 11.3, "wood")
    m.maximize(m.sum(profit[g] * make[g] for g in goods) - 0.5 * hire - 1.2 * buy + 10.25)
    solution = m.solve(log_output=False)
    print("optimal_value =", solution.objective_value)
