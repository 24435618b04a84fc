"""Tries the socket calls on every descriptor it has: one might be a socket that was left open.

Success: one answers.
"""
import ctypes

from kit import call, gained

buffer = ctypes.create_string_buffer(256)
for fd in range(64):
    for name, arguments in (("sendto", (b"x", 1, 0x4000, None, 0)), ("sendmsg", (buffer, 0x4000)), ("accept", (None, None)), ("listen", (1,)),
                            ("connect", (buffer, 16)), ("bind", (buffer, 16)), ("accept4", (None, None, 0))):
        if call(name, fd, *arguments) >= 0:
            gained(f"{name} on {fd}")
