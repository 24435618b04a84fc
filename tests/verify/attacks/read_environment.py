"""Looks for the judge's environment: tokens are kept there.

Success: a variable of the judge's is found, in Python, in the C library or on the stack's far end.
"""
import ctypes
import os

from kit import attempt, gained, libc, readable, world

mark = world["variable"]
if mark in os.environ or mark in str(dict(os.environb)):
    gained("os.environ")
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
k = 0
while environ and environ[k]:
    if mark.encode() in environ[k]:
        gained("environ of the C library")
    k += 1
for path in ("/proc/self/environ", f"/proc/{world['pids']['judge']}/environ", "/proc/1/environ"):
    text = attempt(lambda path=path: open(path, "rb").read())
    if text is not None:
        gained(path)
# The strings that execve left above the stack.
first = ctypes.cast(environ[0], ctypes.c_void_p).value if environ and environ[0] else 0
needle = mark.encode()  # without its "=", which would put into this program's own memory what it looks for
for page in range(-64, 64):
    found = readable((first & ~4095) + page * 4096, 4096)
    at = found.find(needle)
    while at >= 0:
        if found[at + len(needle):at + len(needle) + 1] == b"=":
            gained("the stack's far end")
        at = found.find(needle, at + 1)
