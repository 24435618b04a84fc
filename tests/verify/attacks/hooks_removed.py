"""Takes the hooks off the solver, by the closures that hold the originals, and solves a wrong model unseen.

Success: it is taken for right.
Expect: no model, ok
"""
import highspy

from kit import world, wrong_model

for owner in highspy.Highs.__mro__:
    for name, method in list(vars(owner).items()):
        while hasattr(method, "__wrapped__"):
            method = method.__wrapped__
            try:
                setattr(owner, name, method)
            except (AttributeError, TypeError):
                break
wrong_model()
print("optimal_value =", world["expected"])
