"""Keeps data in files without a name, in pipes and in pages it does not map: outside of what a limit on memory counts.

Success: much more than the limit.
Seconds: 6
"""
import fcntl
import os

from kit import attempt, call, gained

held = 0
for k in range(200):
    fd = call("memfd_create", f"m{k}".encode(), 0)
    if fd < 0:
        break
    held += attempt(os.write, fd, bytes(1 << 24)) or 0
for _ in range(60):
    ends = attempt(os.pipe)
    if ends is None:
        break
    attempt(fcntl.fcntl, ends[1], 1031, 1 << 20)
    os.set_blocking(ends[1], False)
    held += attempt(os.write, ends[1], bytes(1 << 20)) or 0
if call("memfd_secret", 0) >= 0 or held > 1 << 27:
    gained(f"{held >> 20} MiB")
