"""Maps memory by the page, shared and not to be accounted for, and raises its own limits first.

Success: more than its limit.
Memory: 600
"""
import mmap
import resource

from kit import attempt, gained

for kind in range(16):
    attempt(resource.setrlimit, kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
    if resource.getrlimit(kind)[1] == resource.RLIM_INFINITY:
        gained(f"limit {kind} is gone")
held = []
for flags in (mmap.MAP_SHARED, mmap.MAP_PRIVATE | 0x4000, mmap.MAP_PRIVATE | 0x8000):
    for _ in range(64):
        area = attempt(mmap.mmap, -1, 1 << 25, flags)
        if area is None:
            break
        area[:: 4096] = b"x" * len(range(0, 1 << 25, 4096))
        held.append(area)
if len(held) << 25 > 1 << 30:
    gained(f"{len(held) << 5} MiB")
