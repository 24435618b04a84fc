"""Tries the system calls that are younger than the filter's table, and numbers of other tables.

Success: one is carried out.
"""
import ctypes

from kit import gained, libc

for number in (*range(452, 600), 1 << 20):
    ctypes.set_errno(0)
    if libc.syscall(number, 0, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() != 38:
        gained(f"call {number}: errno {ctypes.get_errno()}")
