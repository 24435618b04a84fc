"""Memory of a warm parent, laid out so that forks of it are cheap.

A fork copies the page tables of all that the parent has written, the child's end takes them down again, and each page that the child
writes to is copied at the first write: 2 to 4 microseconds a page.  For a small program that is half of its time.  So here

    gather()          puts the interpreter's small objects into the C library's heap: one stretch, not pieces between libraries
    fill()            takes what is free between old objects, so that a child's new ones lie side by side
    settle(own)       has the kernel back that stretch by huge pages, whose 512 entries are copied and taken down together
    written(run)      which huge pages a run writes all over
    copy(stretches)   in a child: copies those at once, before the run does so page by page

All of it is a matter of speed alone: where the kernel or the C library does not offer it, nothing is changed.
"""

from __future__ import annotations

import ctypes
import os
from array import array
from collections.abc import Callable, Iterator, Sequence

from orpipe.verify.kernel import fork, libc

HUGE = 1 << 21
_PAGE = os.sysconf("SC_PAGE_SIZE")
_COLLAPSE = 25  # MADV_COLLAPSE, of Linux 6.1
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # of mallopt
_HOLES, _REST = 200_000, 1 << 28  # more holes of one size than a warm parent has; more bytes than it takes hereafter
_OWN, _FILE, _PRESENT = 1 << 56, 1 << 61, 1 << 63  # bits of /proc/self/pagemap
_MANY = 72  # of 512: where copying all at once (0.2 ms) is as dear as copying one by one


class Arenas(ctypes.Structure):
    """PyObjectArenaAllocator: where the interpreter has its small objects."""

    _fields_ = (("context", ctypes.c_void_p), ("alloc", ctypes.c_void_p), ("free", ctypes.c_void_p))


class _Usage(ctypes.Structure):
    """struct mallinfo2; rest: bytes between the last block taken and the heap's end."""

    _fields_ = (*((f"_{k}", ctypes.c_size_t) for k in range(9)), ("rest", ctypes.c_size_t))


def gather() -> Arenas | None:
    """From here on, so early in a process that is to be forked.  What `settle` wants: None if nothing was changed."""
    own = Arenas()
    try:
        adjust, take = libc.mallopt, ctypes.cast(libc.aligned_alloc, ctypes.c_void_p)
        ctypes.pythonapi.PyObject_GetArenaAllocator(ctypes.byref(own))
    except AttributeError:  # another C library, another Python
        return None
    for option, size in ((_MMAP_THRESHOLD, 32 << 20), (_TRIM_THRESHOLD, 1 << 30), (_TOP_PAD, 64 << 20)):
        adjust(option, size)
    # alloc(context, size) becomes aligned_alloc(16, size).  What comes from there is not given back: `free` is a munmap, which
    # refuses an address inside a page, and were it a page's start, the C library counts that memory as taken for ever.
    ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(Arenas(16, take, own.free)))
    return own


def fill() -> None:
    """Take what is free between objects, for good, so that children have their new objects side by side, from a huge page's start
    on: else each lies in another page, in a hole that some import has left.  Between `gather` and `settle`."""
    small = ctypes.pythonapi.PyObject_Malloc
    libc.malloc.restype = small.restype = ctypes.c_void_p
    libc.malloc.argtypes = small.argtypes = (ctypes.c_size_t,)
    libc.sbrk.restype = ctypes.c_ssize_t
    try:
        libc.mallinfo2.restype = _Usage
    except AttributeError:  # before glibc 2.33
        return
    rest = libc.sbrk(ctypes.c_ssize_t(0)) - libc.mallinfo2().rest
    libc.malloc(max(-rest % HUGE - 64, 0))
    for take, sizes in ((libc.malloc, (*(1 << k for k in range(20, 10, -1)), *range(1032, 16, -16))), (small, range(512, 0, -16))):
        for size in sizes:
            for _ in range(_HOLES):
                if rest <= (take(size) or rest) < rest + _REST:  # pieces from before `gather` lie elsewhere
                    break


def settle(own: Arenas | None) -> None:
    """After the last import; new memory is had, and given back, as usual again."""
    if own is None:
        return
    ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(own))
    libc.mallopt(_TOP_PAD, 1 << 17)
    for start, end in _stretches():
        for at in range(start, end, HUGE):
            _collapse(at)


def written(run: Callable[[], object]) -> list[int]:
    """Addresses of the huge pages that `run` writes to in many places, found out in a forked child."""
    read_end, write_end = os.pipe()
    pid = fork()
    if pid == 0:
        try:
            run()
            os.write(write_end, array("Q", (at for start, end in _stretches() for at in _worn(start, end))).tobytes())
        finally:
            os._exit(0)
    os.close(write_end)
    with open(read_end, "rb") as pipe:
        found = pipe.read()
    os.waitpid(pid, 0)
    return array("Q", found).tolist()


def copy(stretches: Sequence[int]) -> None:
    """In one system call each, so that the interpreter cannot write to what is being copied."""
    for at in stretches:
        ctypes.memmove(at, at, 1)  # a huge page that is shared as a whole would be left as it is
        _collapse(at)


def _collapse(at: int) -> None:
    libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(HUGE), ctypes.c_int(_COLLAPSE))


def _stretches() -> Iterator[tuple[int, int]]:
    """Anonymous memory of this process in whole huge pages: (start, end)."""
    try:
        with open("/proc/self/maps") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        ends, rights, _, device, _, *name = line.split()
        if rights == "rw-p" and device == "00:00" and name in ([], ["[heap]"]):
            start, end = (int(each, 16) for each in ends.split("-"))
            start, end = -(-start // HUGE) * HUGE, end // HUGE * HUGE
            if start < end and (name or end - start < 16 << 20):  # not a buffer that a library has reserved
                yield start, end


def _worn(start: int, end: int) -> Iterator[int]:
    with open("/proc/self/pagemap", "rb") as file:
        file.seek(start // _PAGE * 8)
        entries = array("Q", file.read((end - start) // _PAGE * 8))
    for at in range(start, end, HUGE):
        first = (at - start) // _PAGE
        own = sum(entry & (_OWN | _FILE | _PRESENT) == _OWN | _PRESENT for entry in entries[first:first + HUGE // _PAGE])
        if own >= _MANY:
            yield at
