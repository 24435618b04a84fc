"""Has signals sent for it: as the owner of a descriptor, by a timer, by a lease.

Success: the owner may be someone else.
"""
import fcntl
import os
import struct

from kit import attempt, gained, world

ends = os.pipe()
for pid in world["pids"].values():
    for command, argument in ((8, pid), (8, -pid), (15, struct.pack("ii", 1, pid)), (10, 9)):
        if attempt(fcntl.fcntl, ends[0], command, argument) is not None:
            gained(f"command {command} for {pid}")
attempt(fcntl.fcntl, ends[0], fcntl.F_SETFL, os.O_ASYNC)
os.write(ends[1], b"x")
