"""Writes files wherever it might.

Success: a file outside of its work folder is made or grows.
"""
import os
import site
import sys
import sysconfig

from kit import attempt, gained, world

inside = os.path.realpath(".")
folders = [world["outside"], world["home"], world["repository"], "/", "/usr", "/etc", "/dev", "/dev/shm", "/proc", "/sys", "/run", "/var", sys.prefix,
           os.path.dirname(inside), sysconfig.get_path("stdlib"), *site.getsitepackages()]
for folder in folders:
    for name in ("orpipe-escape", "orpipe-escape.pth", "sitecustomize.py"):
        if attempt(lambda: open(os.path.join(folder, name), "w").write("x")) is not None:
            gained(os.path.join(folder, name))
    if attempt(os.mkdir, os.path.join(folder, "orpipe-escape-folder")) is None and os.path.isdir(os.path.join(folder, "orpipe-escape-folder")):
        gained(f"a folder in {folder}")
