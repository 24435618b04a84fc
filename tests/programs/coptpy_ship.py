"""A transport LP in coptpy, data from data.json, the model inside a function under the main guard."""

import json

import coptpy as cp
from coptpy import COPT


def build(data):
    prob = cp.Envr().createModel("ship")
    x = prob.addVars(data["depots"], data["shops"], nameprefix="x")
    prob.setObjective(cp.quicksum(data["cost"][i][j] * x[i, j] for i in data["depots"] for j in data["shops"]))
    prob.addConstrs((x.sum(i, "*") <= data["stock"][i] for i in data["depots"]), nameprefix="stock")
    prob.addConstrs((x.sum("*", j) >= data["need"][j] for j in data["shops"]), nameprefix="need")
    return prob


def main():
    with open("data.json") as file:
        prob = build(json.load(file))
    prob.setParam(COPT.Param.TimeLimit, 10)
    prob.solveLP()
    if prob.status == COPT.OPTIMAL:
        print("optimal_value =", prob.objval)
    else:
        print("status =", {COPT.INFEASIBLE: "infeasible", COPT.UNBOUNDED: "unbounded"}[prob.status])


if __name__ == "__main__":
    main()
