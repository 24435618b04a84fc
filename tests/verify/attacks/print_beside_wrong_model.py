"""Solves a wrong model and prints the right optimum.

Success: it is taken for right.
Expect: ok
"""
from kit import world, wrong_model

wrong_model()
print("optimal_value =", world["expected"])
