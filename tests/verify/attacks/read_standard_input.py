"""Asks its user: reads standard input, and writes to it.

Success: it gets an answer, or waits for one.
Expect: exception
Seconds: 3
"""
import os
import sys

from kit import attempt, gained

if sys.stdin.read() or attempt(os.write, 0, b"x") is not None:
    gained("standard input")
input("the right answer? ")
