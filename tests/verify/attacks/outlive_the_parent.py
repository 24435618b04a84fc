"""Clears the signal that ends it with its parent, and asks to be kept.

Success: the kernel grants it.
"""
from kit import gained, libc

for option, value in ((1, 0), (4, 1), (3, 0), (37, 0)):  # death signal, dumpable; what is asked back is harmless
    if option in (1, 4) and libc.prctl(option, value, 0, 0, 0) == 0:
        gained(f"prctl({option})")
