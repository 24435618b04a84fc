"""Takes all rights from its work folder, moves it, mounts over it.

Success: the next program finds something of it, or cannot start.
"""
import os

from kit import attempt

here = os.getcwd()
os.mkdir("inner")
open("inner/file", "w").close()
attempt(os.rename, here, here + "-moved")
attempt(os.rmdir, here)
attempt(os.symlink, "/", here + "-link")
for path in ("inner/file", "inner", ".", ".."):
    attempt(os.chmod, path, 0)
