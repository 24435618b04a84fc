"""Kernel calls that Python 3.11 does not wrap, through the C library."""

from __future__ import annotations

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
_within = ctypes.PyDLL(None, use_errno=True)
libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)  # pointers pass as numbers


def check(result: int, what: str) -> int:
    """The result of a C call, or OSError with errno and the name of what was tried."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    check(libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(fd: int, kind: int) -> None:
    check(libc.setns(ctypes.c_int(fd), ctypes.c_int(kind)), "setns")


def prctl(option: int, *args: int) -> int:
    return check(libc.prctl(option, *args, *[0] * (4 - len(args))), f"prctl({option})")


def fork() -> int:
    """os.fork() for a process with one thread, without the interpreter's handlers: with no other thread there is nothing
    they would mend, and they touch a tenth of the pages that a small run copies.  `random` goes on from the parent's state.
    """
    return check(_within.fork(), "fork")
