"""Forks without end.

Success: a second process.
Seconds: 3
"""
import os

from kit import attempt, gained

for _ in range(1000):
    pid = attempt(os.fork)
    if pid is not None:
        gained("a process")
        if pid == 0:
            while True:
                os.fork()
