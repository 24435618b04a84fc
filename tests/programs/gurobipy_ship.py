"""A transport LP in gurobipy, data from data.json, the model inside a function under the main guard."""

import json

import gurobipy as gp
from gurobipy import GRB


def build(data, env):
    prob = gp.Model("ship", env=env)
    cost = {(i, j): data["cost"][i][j] for i in data["depots"] for j in data["shops"]}
    x = prob.addVars(data["depots"], data["shops"], name="x")
    prob.setObjective(x.prod(cost), GRB.MINIMIZE)
    prob.addConstrs((x.sum(i, "*") <= data["stock"][i] for i in data["depots"]), name="stock")
    prob.addConstrs((x.sum("*", j) >= data["need"][j] for j in data["shops"]), name="need")
    return prob


def main():
    with open("data.json") as file:
        data = json.load(file)
    with gp.Env(params={"OutputFlag": 0, "WLSACCESSID": "abc", "LICENSEID": 1}) as env, build(data, env) as prob:
        prob.optimize()
        if prob.Status == GRB.OPTIMAL:
            print("optimal_value =", prob.ObjVal)
        else:
            print("status =", {GRB.INFEASIBLE: "infeasible", GRB.INF_OR_UNBD: "infeasible or unbounded"}[prob.Status])


if __name__ == "__main__":
    main()
