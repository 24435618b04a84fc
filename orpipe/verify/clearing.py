"""Removing what a program left on a disk that others use: nested without end, locked, linked elsewhere."""

from __future__ import annotations

import contextlib
import os
import shutil


def remove_tree(path: str) -> None:
    """Remove a folder and all in it; never follows a link, needs no recursion, goes on over what cannot be removed."""
    with contextlib.suppress(OSError):
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
            return
        os.chmod(path, 0o700)
    waiting, number = [path], 0
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.path)
                        continue
                    os.chmod(entry.path, 0o700)
                    if folder == path:
                        waiting.append(entry.path)
                    else:  # up to the top: no path grows longer than the first two levels
                        number += 1
                        flat = os.path.join(path, f".{number}.{os.getpid()}")
                        os.rename(entry.path, flat)
                        waiting.append(flat)
        if folder != path:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
    shutil.rmtree(path, ignore_errors=True)
