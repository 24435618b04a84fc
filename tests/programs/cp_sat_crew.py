"""The crew of test_capture.py with CP-SAT: whole numbers only, one clause."""

from ortools.sat.python import cp_model

m = cp_model.CpModel()
early, late = m.new_int_var(0, 9, "early"), m.new_int_var(0, 9, "late")
night, spare = m.new_bool_var("night"), m.new_bool_var("spare")
m.add_linear_constraint(2 * early + 3 * late, 7, 30).with_name("hours")
m.add(early - late == 1).with_name("lead")
m.add(early + late + 4 * night <= 12).with_name("beds")
m.add_bool_or(night, ~spare)
m.maximize(5 * early + 4 * late + 3 * night + 2 * spare - 6)
solver = cp_model.CpSolver()
if solver.solve(m) == cp_model.OPTIMAL:
    print("optimal_value =", solver.objective_value)
