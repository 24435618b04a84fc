"""Changes a file of the judge's: truncates, appends, renames, removes, replaces.

Success: the file is not as it was.
"""
import os

from kit import attempt, world

path = world["kept"]
for change in (lambda: open(path, "w").write("x"), lambda: open(path, "a").write("x"), lambda: open(path, "r+").write("x"),
               lambda: os.truncate(path, 0), lambda: os.unlink(path), lambda: os.rename(path, path + ".old"), lambda: os.replace("program.py", path),
               lambda: os.rmdir(world["outside"]), lambda: os.symlink("x", path + ".link"), lambda: os.link("program.py", path + ".hard")):
    attempt(change)
