"""Looks for the work folders and files of programs that run beside it.

Success: a file of another run is found.
"""
import glob
import os

from kit import attempt, gained, world

mine = os.stat(".")
for pattern in (world["outside"] + "/*", "/tmp/*", "/tmp/*/*", "/var/tmp/*", "/job/*", "/job/*/*", "/dev/shm/*", "../*", "../*/*", "/proc/*/cwd/*",
                "/proc/*/root/*"):
    for path in glob.glob(pattern):
        found = attempt(os.stat, path)
        inside = os.path.realpath(path).startswith(os.path.realpath("."))
        if found is not None and not inside and (found.st_ino, found.st_dev) != (mine.st_ino, mine.st_dev):
            gained(path)
