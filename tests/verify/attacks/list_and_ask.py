"""Asks whether paths exist: names tell much even where content is locked.

Success: a path of the judge's is known to exist, by stat, access, readlink, chdir or a walk.
"""
import os

from kit import attempt, gained, world

for path in (world["secret"], world["outside"], *world["homely"], world["repository"] + "/pyproject.toml"):
    for ask in (os.stat, os.lstat, os.readlink, os.statvfs, os.chdir, lambda p: os.access(p, os.F_OK) or None, os.listxattr):
        if attempt(ask, path) is not None:
            gained(f"{path} by {ask}")
    if os.path.exists(path):
        gained(f"{path} exists")
for folder, _, names in os.walk("/"):
    if any(name in names for name in (os.path.basename(world["secret"]), "pyproject.toml.judge")):
        gained(folder)
    if folder.count("/") > 3:
        break
