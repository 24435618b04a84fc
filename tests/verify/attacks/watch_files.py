"""Watches folders of others: which files are opened and made there.

Success: a watch is granted.
"""
import os

from kit import call, gained, world

for make, add in (("inotify_init1", "inotify_add_watch"), ("fanotify_init", "fanotify_mark")):
    fd = call(make, 0, 0)
    if fd >= 0:
        gained(make)
        for path in ("/", "/usr", world["outside"], os.path.dirname(world["outside"])):
            if call(add, fd, path.encode(), 0xFFF) >= 0:
                gained(f"a watch on {path}")
