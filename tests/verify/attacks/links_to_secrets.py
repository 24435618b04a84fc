"""Makes links in its work folder to what it may not read, and reads through them.

Success: the secret is read, or linked hard.
"""
import os
import shutil

from kit import attempt, gained, world

os.symlink(world["secret"], "soft")
os.symlink(os.path.dirname(world["secret"]), "folder")
os.symlink("/proc/self/root", "root")
for path in ("soft", "folder/" + os.path.basename(world["secret"]), "root" + world["secret"], "/proc/self/root" + world["secret"],
             "../" * 12 + world["secret"]):
    if attempt(lambda path=path: open(path).read()):
        gained(path)
for make in (os.link, os.rename, shutil.copy):
    attempt(make, world["secret"], "hard")
    if os.path.exists("hard"):
        gained(f"the secret by {make}")
