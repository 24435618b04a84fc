"""Asks the kernel itself for processes: fork, vfork, clone with every flag, clone3.

Success: a second process, or a namespace.
"""
import ctypes
import os

from kit import call, gained, libc, world

me = os.getpid()


def judged(pid, how):
    if os.getpid() != me:
        os._exit(0)
    if pid > 0:
        gained(how)


for name in ("fork", "vfork"):
    judged(call(name), name)
for bit in range(32):
    flags = (1 << bit) & ~0x10100 | 17
    judged(libc.syscall(world["clone"], ctypes.c_ulong(flags), 0, 0, 0, 0), f"clone with {flags:#x}")
arguments = ctypes.create_string_buffer(88)
arguments[32] = 17
judged(libc.syscall(435, arguments, 88), "clone3")
