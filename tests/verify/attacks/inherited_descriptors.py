"""Looks for descriptors that the judge forgot to close.

Success: more than the standard three and the run's own result pipe.
"""
import os
import stat

from kit import attempt, ends, gained

for number in range(0, 4096):
    found = attempt(os.fstat, number)
    if found is None or number in ends:
        continue
    kind = stat.S_IFMT(found.st_mode)
    fine = {0: kind == stat.S_IFCHR, 1: kind == stat.S_IFIFO, 2: kind == stat.S_IFIFO, 3: kind == stat.S_IFIFO}
    if not fine.get(number, False):
        gained(f"descriptor {number}: {found}")
    if number and attempt(os.read, number, 1) is not None:
        gained(f"descriptor {number} can be read")
