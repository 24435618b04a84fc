"""Follows the judge's own code by a trace function and changes its variables.

Success: the report says what the program wants beyond a model.
Expect: ok, crash, exception, no model
"""
import sys

from kit import world, wrong_model


def trace(frame, event, argument):
    for name in ("status", "objective", "captured", "seconds", "outcome"):
        if name in frame.f_locals:
            frame.f_locals[name] = world["expected"]
    return trace


frame = sys._getframe()
while frame:
    frame.f_trace = trace
    frame = frame.f_back
sys.settrace(trace)
sys.setprofile(lambda *_: None)
wrong_model()
print("optimal_value =", world["expected"])
