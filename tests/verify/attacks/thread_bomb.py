"""Starts threads without end, each with the smallest stack.

Success: so many that others get none.
Seconds: 4
"""
import threading
import time

from kit import gained, world

threading.stack_size(32768)
count = 0
try:
    while count < 40000:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        count += 1
except RuntimeError:
    pass
if count > 500 and world["counted"]:
    gained(f"{count} threads")
