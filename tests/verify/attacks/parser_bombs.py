"""Has Python compile, and the judge's helpers read, what grows when it is read.

Success: more than this process ends.
Expect: exception, crash, memory, timeout, no model
Seconds: 5
Memory: 800
"""
import ast
import json
import pickle
import zlib

from kit import attempt

for text in ("(" * 200000, "-" * 200000 + "1", "[" * 90000 + "]" * 90000, "f(" * 100 + ")" * 100, "x" + ".x" * 100000):
    attempt(compile, text, "x", "eval")
    attempt(ast.literal_eval, text)
attempt(json.loads, "[" * 10**6)
attempt(pickle.loads, b"(lp0\n" * 10**6 + b".")
attempt(zlib.decompress, zlib.compress(bytes(1 << 28)))
