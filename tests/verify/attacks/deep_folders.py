"""Nests folders deeper than any path may be long, and locks them.

Success: clearing up fails, or the pool with it.
"""
import os

from kit import attempt

for _ in range(3000):
    try:
        os.mkdir("d" * 50)
        os.chdir("d" * 50)
    except OSError:
        break
for _ in range(50):
    attempt(os.chmod, ".", 0)
    attempt(os.chdir, "..")
