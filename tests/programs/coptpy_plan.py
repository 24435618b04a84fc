"""The plan of test_capture_more.py in coptpy."""

import coptpy as cp
from coptpy import COPT

goods = ["oak", "elm"]
profit = {"oak": 3.1, "elm": 2.0}

env = cp.Envr()
m = env.createModel("plan")
make = m.addVars(goods, ub=7, vtype=COPT.INTEGER, nameprefix="make")
make["elm"].lb = 1
hire = m.addVar(lb=-COPT.INFINITY, name="hire")
buy = m.addVar(ub=12.5, name="buy")
m.addConstr(make.sum() == hire + buy + 1, name="balance")
m.addConstr(hire - make["elm"] == [-3, 4.5], name="drift")
m.addConstr(2 * make["oak"] + 0.1 * make["elm"] <= 11.3, name="wood")
m.setObjective(make.prod(profit) - 0.5 * hire - 1.2 * buy + 10.25, sense=COPT.MAXIMIZE)
m.solve()
print("optimal_value =", m.objval)
