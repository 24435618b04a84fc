"""The disk as a judged program sees it: a file tree of its own that holds the interpreter, the libraries, a few devices
and a work folder in memory, and no other path: not to be read, nor asked whether it exists.

The warm parent builds it once (`build`), each run mounts its own empty work folder over the common one (`mount_work`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterable

from orpipe.verify.kernel import check, libc, unshare

PLACE = "/job"
WORK = PLACE + "/work"
NEWNS = 0x20000
_MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 0x20, 0x1000, 0x4000, 0x40000
_AT_FDCWD, _AT_RECURSIVE, _RDONLY, _NOSUID, _MNT_DETACH = -100, 0x8000, 1, 2, 2
_MOUNT_SETATTR = 442  # the same on every architecture
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SHORT = ("/tmp", "/var/tmp")  # names of the work folder that programs like to use
_HELD = "/held"  # where libraries are that lie below those; each work folder has links to them

_links: list[tuple[str, str]] = []  # path in a work folder, where it leads


def build(read: Iterable[str], over: str) -> None:
    """Move this process, in a mount namespace of its own, to a tree of the paths `read`, all read-only.

    over: an existing empty folder, to mount on; it stays empty outside.  What lies below /tmp is held elsewhere and linked
    to, so that /tmp is the work folder all the same.  Raises OSError.
    """
    _links.clear()
    machine = os.uname().machine
    if machine not in _PIVOT_ROOT:
        raise OSError(f"no pivot_root number for {machine}")
    unshare(NEWNS)
    _mount(b"none", "/", None, _MS_REC | _MS_PRIVATE)
    _mount(b"tmpfs", over, b"tmpfs", _MS_NOSUID | _MS_NODEV, b"size=1m,nr_inodes=1024,mode=755")
    kept: list[str] = []
    for path in sorted(set(read)):
        if any(path == k or path.startswith(k + "/") for k in kept) or not os.path.exists(path):
            continue
        kept.append(path)
        short = next((name for name in _SHORT if path.startswith(name + "/")), "")
        place = f"{_HELD}/{len(_links)}" if short else path
        if short:
            _links.append((path[len(short) + 1:], place))
        target = over + place
        if os.path.isdir(path):
            os.makedirs(target)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        _mount(os.fsencode(path), target, None, _MS_BIND | _MS_REC)
    os.makedirs(over + WORK, 0o700)
    _link(over + WORK)
    for name in _SHORT:
        os.makedirs(os.path.dirname(over + name), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.symlink(WORK, over + name)
    os.chdir(over)
    check(libc.syscall(_PIVOT_ROOT[machine], b".", b"."), "pivot_root")
    check(libc.umount2(b".", _MNT_DETACH), "leaving the old tree")
    os.chdir("/")
    attributes = ctypes.create_string_buffer(struct.pack("QQQQ", _RDONLY | _NOSUID, 0, 0, 0))
    check(libc.syscall(_MOUNT_SETATTR, ctypes.c_int(_AT_FDCWD), b"/", ctypes.c_uint(_AT_RECURSIVE), attributes,
                       ctypes.c_size_t(32)), "read-only mounts")


def mount_work(size: int, again: bool = False) -> None:
    """An empty work folder of so many bytes, 4096 files at most; again: change the size of the one that is mounted."""
    options = f"size={size},nr_inodes=4096,mode=700".encode()
    _mount(b"tmpfs", WORK, b"tmpfs", _MS_NOSUID | _MS_NODEV | (_MS_REMOUNT if again else 0), options)
    if not again:
        _link(WORK)


def _link(work: str) -> None:
    for name, place in _links:
        os.makedirs(os.path.dirname(f"{work}/{name}"), exist_ok=True)
        with contextlib.suppress(FileExistsError):  # the same below /tmp and below /var/tmp: the first is found
            os.symlink(place, f"{work}/{name}")


def _mount(source: bytes, target: str, kind: bytes | None, flags: int, options: bytes | None = None) -> None:
    check(libc.mount(source, os.fsencode(target), kind, ctypes.c_ulong(flags), options), f"mounting {target}")
