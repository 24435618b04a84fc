"""The plan of test_capture.py in pulp, which has no ranged rows: `drift` is two rows."""

import pulp

goods = ["oak", "elm"]
profit = {"oak": 3.1, "elm": 2.0}

m = pulp.LpProblem("plan", pulp.LpMaximize)
make = pulp.LpVariable.dicts("make", goods, lowBound=0, upBound=7, cat="Integer")
hire = pulp.LpVariable("hire")
buy = pulp.LpVariable("buy", 0, 12.5)
m += pulp.lpSum(profit[g] * make[g] for g in goods) - 0.5 * hire - 1.2 * buy + 10.25
m += pulp.lpSum(make[g] for g in goods) == hire + buy + 1, "balance"
m += hire - make["elm"] >= -3, "drift_low"
m += hire - make["elm"] <= 4.5, "drift_high"
m += 2 * make["oak"] + 0.1 * make["elm"] <= 11.3, "wood"
m.solve(pulp.PULP_CBC_CMD(msg=False))
print("optimal_value =", pulp.value(m.objective))
