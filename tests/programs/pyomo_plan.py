"""The plan of test_capture.py in pyomo: bounds, integers, a free variable, an equality, a ranged row, a constant."""

import pyomo.environ as pyo

goods = ["oak", "elm"]
profit = {"oak": 3.1, "elm": 2.0}

m = pyo.ConcreteModel("plan")
m.make = pyo.Var(goods, within=pyo.NonNegativeIntegers, bounds=(0, 7))
m.hire = pyo.Var()
m.buy = pyo.Var(bounds=(0, 12.5))
m.gain = pyo.Objective(
    expr=sum(profit[g] * m.make[g] for g in goods) - 0.5 * m.hire - 1.2 * m.buy + 10.25, sense=pyo.maximize)
m.balance = pyo.Constraint(expr=sum(m.make[g] for g in goods) == m.hire + m.buy + 1)
m.drift = pyo.Constraint(expr=(-3, m.hire - m.make["elm"], 4.5))
m.wood = pyo.Constraint(expr=2 * m.make["oak"] + 0.1 * m.make["elm"] <= 11.3)
result = pyo.SolverFactory("appsi_highs").solve(m)
if result.solver.termination_condition == pyo.TerminationCondition.optimal:
    print("optimal_value =", pyo.value(m.gain))
