"""Makes files that claim a terabyte, and holds them open after their names are gone.

Success: the disk fills, or clearing up takes long.
"""
import os

from kit import attempt, gained

for size in (1 << 40, 1 << 34, 1 << 25):
    with open("sparse", "wb") as file:
        if attempt(file.truncate, size) is not None:
            gained(f"a file of {size} bytes")
        attempt(os.posix_fallocate, file.fileno(), 0, size)
held = []
for k in range(60):
    file = attempt(open, f"held{k}", "wb")
    if file is not None:
        attempt(file.write, bytes(1 << 22))
        attempt(file.flush)
        os.unlink(f"held{k}")
        held.append(file)
