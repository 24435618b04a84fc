"""Builds its model of numbers and strings that change what they are each time they are asked.

Success: the judge judges something else than one model, or crashes.
Expect: ok, exception, unsupported, crash, no model
"""
import highspy

from kit import world


class Shifty(float):
    asked = 0

    def __float__(self):
        Shifty.asked += 1
        return 1.0 if Shifty.asked % 2 else float("inf")

    __index__ = None

    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


class Name(str):
    def encode(self, *_):
        raise SystemExit(0)

    def __str__(self):
        return "\0\ud800\x1b[2J" * 1000


h = highspy.Highs()
h.setOptionValue("output_flag", False)
x = h.addVariable(lb=0, ub=Shifty(7), name=Name("x"))
h.addConstr(2 * x <= Shifty(14), name=Name("r"))
h.maximize(x)
print("optimal_value =", world["expected"])
