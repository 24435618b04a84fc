"""Changes modes, owners, times and attributes, which file rules of the kernel do not all guard.

Success: they are not as they were, for a file of the judge's or of a library it uses.
"""
import json
import os

from kit import attempt, gained, world

for path in (world["kept"], world["outside"], json.__file__, os.path.dirname(json.__file__), "/usr", "/dev/null"):
    before = attempt(os.stat, path)
    attempt(os.chmod, path, 0o777)
    attempt(os.chown, path, 12345, 12345)
    attempt(os.utime, path, (1, 1))
    attempt(os.setxattr, path, "user.orpipe", b"x")
    fd = attempt(os.open, path, os.O_RDONLY)
    if fd is not None:
        attempt(os.fchmod, fd, 0o777)
        attempt(os.utime, fd, (1, 1))
    after = attempt(os.stat, path)
    if before and after and (before.st_mode, before.st_uid, before.st_mtime) != (after.st_mode, after.st_uid, after.st_mtime):
        gained(f"the marks of {path}")
