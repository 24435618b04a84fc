"""Computes for ever with every signal blocked and ignored.

Success: it runs longer than it may.
Expect: timeout
Seconds: 1
"""
import signal

for number in range(1, 64):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_SETMASK, range(1, 64))
while True:
    pass
