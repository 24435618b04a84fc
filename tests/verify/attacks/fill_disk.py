"""Writes until nothing fits any more.

Success: more than its share.
Expect: no model, exception
"""
from kit import attempt, gained, world

written = 0
for k in range(400):
    with open(f"f{k}", "wb", buffering=0) as file:
        for _ in range(16):
            written += attempt(file.write, bytes(1 << 20)) or 0
if written > world["disk"] and world["mounted"]:
    gained(f"{written >> 20} MiB")
