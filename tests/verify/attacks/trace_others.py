"""Reads and writes the memory of other processes.

Success: a page of another process.
"""
import ctypes
import os
import struct

from kit import call, gained, world

buffer = ctypes.create_string_buffer(4096)
here = struct.pack("QQ", ctypes.addressof(buffer), 4096)
for pid in (*world["pids"].values(), os.getppid(), 1):
    for request in (16, 0x4206):  # attach, seize
        if call("ptrace", request, pid, 0, 0) >= 0:
            gained(f"ptrace of {pid}")
    for name in ("process_vm_readv", "process_vm_writev"):
        if call(name, pid, here, 1, here, 1, 0) >= 0:
            gained(f"{name} of {pid}")
    if call("kcmp", pid, os.getpid(), 0, 0, 0) >= 0 or call("process_madvise", pid, here, 1, 4, 0) >= 0:
        gained(f"a look at {pid}")
    for fd in range(8):
        if call("pidfd_getfd", fd, 0, 0) >= 0:
            gained("a descriptor of another process")
if call("ptrace", 0, 0, 0, 0) >= 0:
    gained("being traced")
