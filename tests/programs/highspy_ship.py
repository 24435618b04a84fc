"""A transport LP in highspy, data from data.json, the model inside a function under the main guard."""

import json

import highspy


def main():
    with open("data.json") as file:
        data = json.load(file)
    depots, shops, cost = data["depots"], data["shops"], data["cost"]
    prob = highspy.Highs()
    prob.setOptionValue("output_flag", False)
    x = {(i, j): prob.addVariable(lb=0, name=f"x[{i},{j}]") for i in depots for j in shops}
    for i in depots:
        prob.addConstr(sum(x[i, j] for j in shops) <= data["stock"][i])
    for j in shops:
        prob.addConstr(sum(x[i, j] for i in depots) >= data["need"][j])
    prob.minimize(sum(cost[i][j] * x[i, j] for i in depots for j in shops))
    if prob.getModelStatus() == highspy.HighsModelStatus.kOptimal:
        print("optimal_value =", prob.getInfo().objective_function_value)
    else:
        print("status =", prob.modelStatusToString(prob.getModelStatus()))


if __name__ == "__main__":
    main()
