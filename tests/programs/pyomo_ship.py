"""A transport LP in pyomo, data from data.json, the model inside a function under the main guard."""

import json

import pyomo.environ as pyo


def build(data):
    prob = pyo.ConcreteModel("ship")
    prob.I = pyo.Set(initialize=data["depots"])
    prob.J = pyo.Set(initialize=data["shops"])
    cost, stock, need = data["cost"], data["stock"], data["need"]
    prob.x = pyo.Var(prob.I, prob.J, within=pyo.NonNegativeReals)
    prob.cost = pyo.Objective(expr=sum(cost[i][j] * prob.x[i, j] for i in prob.I for j in prob.J))
    prob.stock = pyo.Constraint(prob.I, rule=lambda m, i: sum(m.x[i, j] for j in m.J) <= stock[i])
    prob.need = pyo.Constraint(prob.J, rule=lambda m, j: sum(m.x[i, j] for i in m.I) >= need[j])
    return prob


def main():
    with open("data.json") as file:
        model = build(json.load(file))
    result = pyo.SolverFactory("glpk").solve(model)
    if result.solver.termination_condition == pyo.TerminationCondition.optimal:
        print("optimal_value =", pyo.value(model.cost))
    else:
        print("status =", result.solver.termination_condition)


if __name__ == "__main__":
    main()
