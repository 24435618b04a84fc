"""Adds rules that allow everything, to the system call filter and to the file rules.

Success: what was forbidden works.
"""
import ctypes
import os
import struct

from kit import attempt, call, gained, libc, world

program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
description = struct.pack("HxxxxxxQ", 1, ctypes.addressof(program))
libc.prctl(22, 2, ctypes.create_string_buffer(description), 0, 0)
if call("socket", 1, 1, 0) >= 0:
    gained("a socket")
ruleset = libc.syscall(444, ctypes.create_string_buffer(struct.pack("QQQ", 1, 0, 0)), 8, 0)
attempt(libc.syscall, 446, ruleset, 0)
if attempt(os.open, world["secret"], os.O_RDONLY) is not None:
    gained("the secret")
