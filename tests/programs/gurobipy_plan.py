"""The plan of test_capture_more.py in gurobipy: a range, a free variable, a constant, nothing updated by hand."""

import gurobipy as gp
from gurobipy import GRB

goods = ["oak", "elm"]
profit = {"oak": 3.1, "elm": 2.0}

m = gp.Model("plan")
make = m.addVars(goods, lb={"oak": 0, "elm": 1}, ub=7, vtype=GRB.INTEGER, name="make")
hire = m.addVar(lb=-GRB.INFINITY, name="hire")
buy = m.addVar(ub=12.5, name="buy")
m.addConstr(make.sum() == hire + buy + 1, name="balance")
m.addRange(hire - make["elm"], -3, 4.5, name="drift")
m.addConstr(2 * make["oak"] + 0.1 * make["elm"] <= 11.3, name="wood")
m.setObjective(make.prod(profit) - 0.5 * hire - 1.2 * buy + 10.25, GRB.MAXIMIZE)
m.optimize()
print("optimal_value =", m.ObjVal)
