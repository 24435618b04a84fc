"""Climbs the stack to the warm parent's loop and has it go on in this process.

Success: a second parent answers in its name.
Expect: no model, exception, crash, timeout
Seconds: 2
"""
import sys

from kit import attempt

frame = sys._getframe()
while frame.f_back:
    frame = frame.f_back
    for value in list(frame.f_locals.values()):
        if type(value).__name__ == "Zygote":
            attempt(value._turn)
            attempt(value._fork)
        if type(value).__name__ == "Child":
            attempt(value._live, 3)
