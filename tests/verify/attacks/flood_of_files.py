"""Makes as many files, folders and long names as it can.

Success: more than a few thousand, or the next program finds any.
Seconds: 4
"""
import os

from kit import attempt, gained, world

made = 0
for k in range(30000):
    try:
        os.mkdir(f"{k}-" + "n" * 200)
        made += 1
    except OSError:
        break
if made > 5000 and world["mounted"]:
    gained(f"{made} folders")
attempt(open, "n" * 256, "w")
attempt(open, "\udcff\n\x1b[2J", "w")
