"""Never comes back from C: one expression that takes longer than the sun will shine, the interpreter's lock held.

Success: it runs longer than it may.
Expect: timeout
Seconds: 1
"""
import re

re.match(r"(a+)+$", "a" * 60 + "b")
