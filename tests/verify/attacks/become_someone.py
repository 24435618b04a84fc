"""Becomes another user, takes powers back.

Success: a change of user, or a power.
"""
import ctypes
import os
import struct

from kit import attempt, gained, libc

for change in (lambda: os.setuid(0), lambda: os.setreuid(0, 0), lambda: os.setresuid(0, 0, 0), lambda: os.seteuid(1), lambda: os.setgid(0),
               lambda: os.setgroups([0]), lambda: os.setresgid(1, 1, 1)):
    try:
        change()
        gained(change)
    except OSError:
        pass
header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
now = ctypes.create_string_buffer(24)
libc.capget(header, now)
if any(now.raw[:24]):
    gained(f"powers {now.raw.hex()}")
if libc.capset(header, ctypes.create_string_buffer(b"\xff" * 24)) == 0:
    gained("all powers")
if libc.prctl(28, 0, 0, 0, 0) == 0 or libc.prctl(47, 2, 21, 0, 0) == 0:
    gained("a way back to powers")
if libc.prctl(39, 0, 0, 0, 0) != 1:
    gained("new privileges by exec")
attempt(os.setsid)
