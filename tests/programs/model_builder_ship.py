"""A transport LP with OR-Tools' model builder, data from data.json, the model inside a function under the main guard."""

import json

from ortools.linear_solver.python import model_builder


def main():
    with open("data.json") as file:
        data = json.load(file)
    depots, shops, cost = data["depots"], data["shops"], data["cost"]
    prob = model_builder.Model()
    x = {(i, j): prob.new_num_var(0, float("inf"), f"x[{i},{j}]") for i in depots for j in shops}
    for i in depots:
        prob.add(sum(x[i, j] for j in shops) <= data["stock"][i])
    for j in shops:
        prob.add(sum(x[i, j] for i in depots) >= data["need"][j])
    prob.minimize(sum(cost[i][j] * x[i, j] for i in depots for j in shops))
    solver = model_builder.Solver("glop")
    status = solver.solve(prob)
    if status == model_builder.SolveStatus.OPTIMAL:
        print("optimal_value =", solver.objective_value)
    else:
        print("status =", status)


if __name__ == "__main__":
    main()
