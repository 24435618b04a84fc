"""Stops its own process, so that whoever waits for its end waits for ever.

Success: the pool waits longer than it allows.
Expect: timeout, no model, crash
Seconds: 1
"""
import ctypes
import os
import signal

from kit import attempt, libc

attempt(signal.raise_signal, signal.SIGSTOP)
attempt(os.kill, os.getpid(), signal.SIGSTOP)
event = ctypes.create_string_buffer(64)
event[8] = signal.SIGSTOP
timer = ctypes.c_int()
libc.timer_create(1, event, ctypes.byref(timer))
libc.timer_settime(timer, 0, ctypes.create_string_buffer(b"\0" * 16 + (0).to_bytes(8, "little") + (10**7).to_bytes(8, "little")), None)
while True:
    signal.pause()
