"""Finds out what it may still do with its own memory and files: pages that can be executed, files made executable, itself.

Success: a program of its own making is executed.
"""
import ctypes
import os

from kit import attempt, call, gained, libc, world

with open("x", "wb") as file:
    file.write(open(world["python"], "rb").read(64) if os.path.exists(world["python"]) else b"\x7fELF" + bytes(60))
attempt(os.chmod, "x", 0o6777)
arguments = (ctypes.c_char_p * 2)(b"x", None)
for name, values in (("execve", (b"x", arguments, arguments)), ("execveat", (-100, b"x", arguments, arguments, 0)),
                     ("execve", (b"/bin/true", arguments, arguments)), ("execve", (b"/lib64/ld-linux-x86-64.so.2", arguments, arguments))):
    if call(name, *values) >= 0:
        gained(name)
if libc.dlopen(b"./x", 2):
    gained("a library of its own making")
