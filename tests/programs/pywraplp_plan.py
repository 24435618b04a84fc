"""The plan of test_capture.py with OR-Tools' linear solver wrapper."""

from ortools.linear_solver import pywraplp

goods = ["oak", "elm"]
profit = {"oak": 3.1, "elm": 2.0}

s = pywraplp.Solver.CreateSolver("GUROBI")
make = {g: s.IntVar(0, 7, f"make[{g}]") for g in goods}
hire = s.NumVar(-s.infinity(), s.infinity(), "hire")
buy = s.NumVar(0, 12.5, "buy")
s.Add(sum(make[g] for g in goods) == hire + buy + 1, "balance")
drift = s.Constraint(-3, 4.5, "drift")
drift.SetCoefficient(hire, 1)
drift.SetCoefficient(make["elm"], -1)
s.Add(2 * make["oak"] + 0.1 * make["elm"] <= 11.3, "wood")
s.Maximize(sum(profit[g] * make[g] for g in goods) - 0.5 * hire - 1.2 * buy + 10.25)
if s.Solve() == pywraplp.Solver.OPTIMAL:
    print("optimal_value =", s.Objective().Value())
