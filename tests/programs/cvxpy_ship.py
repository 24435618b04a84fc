"""A transport LP in cvxpy with matrices, data from data.json, inside a function under the main guard."""

import json

import cvxpy as cp
import numpy as np


def build(data):
    cost = np.array([[data["cost"][i][j] for j in data["shops"]] for i in data["depots"]])
    x = cp.Variable(cost.shape, nonneg=True, name="x")
    stock, need = [data["stock"][i] for i in data["depots"]], [data["need"][j] for j in data["shops"]]
    rows = [cp.sum(x, axis=1) <= stock, cp.sum(x, axis=0) >= need]
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, x))), rows)


def main():
    with open("data.json") as file:
        prob = build(json.load(file))
    prob.solve(solver=cp.ECOS, abstol=1e-9)
    print(f"optimal_value = {prob.value}" if prob.status == cp.OPTIMAL else f"status = {prob.status}")


if __name__ == "__main__":
    main()
