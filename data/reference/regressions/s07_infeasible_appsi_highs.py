import pyomo.environ as pyo

m = pyo.ConcreteModel()
m.hours = pyo.Var(bounds=(0, 8))
m.cost = pyo.Objective(expr=3 * m.hours)
m.work = pyo.Constraint(expr=m.hours >= 9)
pyo.SolverFactory("appsi_highs").solve(m)
print("optimal_value =", pyo.value(m.cost))
