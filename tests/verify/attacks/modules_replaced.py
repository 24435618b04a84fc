"""Puts modules of its own in place of the solver and of all that the judge uses, and solves there.

Success: it is taken for right.
Expect: no model, exception, crash
"""
import builtins
import sys
import types

from kit import world

fake = types.ModuleType("highspy")
fake.Highs = type("Highs", (), {"run": lambda self: None, "getObjectiveValue": lambda self: world["expected"]})
sys.modules["highspy"] = fake
for name in ("json", "struct", "orpipe.verify.capture", "orpipe.verify.frames", "orpipe.verify.child", "traceback", "os"):
    sys.modules[name] = types.ModuleType(name)
import highspy  # noqa: E402

h = highspy.Highs()
h.run()
print("optimal_value =", h.getObjectiveValue())
builtins.isinstance = lambda *_: True
builtins.len = lambda *_: 0
builtins.__import__ = None
