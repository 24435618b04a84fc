"""Asks its user: reads standard input, and writes to it.

Success: it gets an answer, or waits for one.
Expect: exception
Seconds: 3
"""
import os
import sys

from kit import attempt, gained

if sys.stdin.read() or attempt(os.read, 0, 1):
    gained("standard input")
input("the right answer? ")
