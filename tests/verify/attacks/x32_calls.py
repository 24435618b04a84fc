"""Makes system calls by the numbers of the x32 interface, which a filter by number may not know.

Success: it gets an answer.
Expect: crash
"""
from kit import gained, libc

gained(f"the process number {libc.syscall(0x40000000 + 39)} by x32")
