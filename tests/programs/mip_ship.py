"""A transport LP in python-mip, data from data.json, the model inside a function under the main guard."""

import json

import mip


def build(data):
    prob = mip.Model("ship")
    x = {(i, j): prob.add_var(f"x_{i}_{j}") for i in data["depots"] for j in data["shops"]}
    prob.objective = mip.minimize(mip.xsum(data["cost"][i][j] * x[i, j] for i, j in x))
    for i in data["depots"]:
        prob.add_constr(mip.xsum(x[i, j] for j in data["shops"]) <= data["stock"][i], f"stock_{i}")
    for j in data["shops"]:
        prob += mip.xsum(x[i, j] for i in data["depots"]) >= data["need"][j], f"need_{j}"
    return prob


def main():
    with open("data.json") as file:
        prob = build(json.load(file))
    status = prob.optimize()
    if status == mip.OptimizationStatus.OPTIMAL:
        print("optimal_value =", prob.objective_value)
    else:
        print("status =", status.name)


if __name__ == "__main__":
    main()
