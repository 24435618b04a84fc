"""Leaves a process behind, detached twice.

Success: it is alive after the run.
Seconds: 3
"""
import os
import time

from kit import attempt

if attempt(os.fork) == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 256)
        while True:
            time.sleep(1)
attempt(os.setsid)
