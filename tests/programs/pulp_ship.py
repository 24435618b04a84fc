"""A transport LP in pulp, data from data.json, the model inside a function under the main guard."""

import json

import pulp


def main():
    with open("data.json") as file:
        data = json.load(file)
    depots, shops, cost = data["depots"], data["shops"], data["cost"]
    prob = pulp.LpProblem("ship", pulp.LpMinimize)
    x = pulp.LpVariable.dicts("x", (depots, shops), lowBound=0)
    prob += pulp.lpSum(cost[i][j] * x[i][j] for i in depots for j in shops)
    for i in depots:
        prob += pulp.lpSum(x[i][j] for j in shops) <= data["stock"][i]
    for j in shops:
        prob += pulp.lpSum(x[i][j] for i in depots) >= data["need"][j]
    prob.solve()
    if prob.status == pulp.LpStatusOptimal:
        print("optimal_value =", pulp.value(prob.objective))
    else:
        print("status =", pulp.LpStatus[prob.status])


if __name__ == "__main__":
    main()
