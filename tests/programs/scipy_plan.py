"""The plan of test_capture_more.py with scipy's milp: a minimum, without names and without the constant."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

profit = np.array([3.1, 2.0, -0.5, -1.2])
rows = [[1, 1, -1, -1], [0, -1, 1, 0], [2, 0.1, 0, 0]]
r = milp(-profit, constraints=LinearConstraint(rows, [1, -3, -np.inf], [1, 4.5, 11.3]), integrality=[1, 1, 0, 0],
         bounds=Bounds([0, 1, -np.inf, 0], [7, 7, np.inf, 12.5]))
print("optimal_value =", -r.fun)
