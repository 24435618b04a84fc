"""Turns clocks and timers, in Python and in the kernel, so that no time seems to pass.

Success: it runs longer than it may.
Expect: timeout
Seconds: 1
"""
import signal
import time

from kit import attempt

time.time = time.monotonic = time.perf_counter = lambda: 0.0
attempt(time.clock_settime, time.CLOCK_REALTIME, 0)
for kind in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
    signal.setitimer(kind, 0)
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True:
    pass
