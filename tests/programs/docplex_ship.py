"""A transport LP in docplex, data from data.json, the model inside a function under the main guard."""

import json

from docplex.mp.model import Model


def build(data):
    prob = Model("ship")
    x = prob.continuous_var_matrix(data["depots"], data["shops"], name="x")
    prob.minimize(prob.sum(data["cost"][i][j] * x[i, j] for i in data["depots"] for j in data["shops"]))
    prob.add_constraints(prob.sum(x[i, j] for j in data["shops"]) <= data["stock"][i] for i in data["depots"])
    prob.add_constraints(prob.sum(x[i, j] for i in data["depots"]) >= data["need"][j] for j in data["shops"])
    return prob


def main():
    with open("data.json") as file:
        prob = build(json.load(file))
    if prob.solve():
        print("optimal_value =", prob.objective_value)
    else:
        print("status =", prob.solve_details.status)


if __name__ == "__main__":
    main()
