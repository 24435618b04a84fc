"""Uses io_uring, whose operations pass by system call filters.

Success: a ring.
"""
import ctypes

from kit import call, gained

parameters = ctypes.create_string_buffer(256)
fd = call("io_uring_setup", 8, parameters)
if fd >= 0:
    gained("a ring")
for name in ("io_uring_enter", "io_uring_register"):
    for fd in range(8):
        if call(name, fd, 0, 0, 0, None, 0) >= 0:
            gained(name)
