"""Scans its own memory for what earlier programs left in the warm parent: their text, their data, their output.

Success: the mark that an earlier program was given, or printed, is found.
"""
import ctypes
import gc
import re

from kit import gained, libc, readable, world

mark = re.compile(("-".join(world["mark"]) + "-").encode() + rb"[0-9a-f]{16}")
step, seen = 1 << 16, set()


def scan(start, size):
    for at in range(start, start + size, step):
        if at not in seen:
            seen.add(at)
            for found in mark.findall(readable(at, step)):
                gained(found.decode())


libc.sbrk.restype = ctypes.c_void_p
top = libc.sbrk(0)
scan((top - (64 << 20)) & ~(step - 1), 64 << 20)
places = {id(o) >> 20 for o in gc.get_objects()} | {id(str(k) * 9) >> 20 for k in range(999)} | {id(k + 0.5) >> 20 for k in range(999)}
for place in sorted(places)[:200]:
    scan(place << 20, 1 << 20)
big = [bytes(1 << k) for k in range(12, 24)]
for block in big:
    scan((id(block) - (4 << 20)) & ~(step - 1), 8 << 20)
