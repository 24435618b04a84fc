"""Worker processes of a measurement end with the process that started them, however that ends: one left behind spoils the next measurement."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from multiprocessing import parent_process
from multiprocessing.connection import wait

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """For the `initializer` of a pool.  On Linux the kernel ends the worker, whatever it is busy with; elsewhere a thread does."""
    parent = parent_process()
    if parent is None:
        return
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if not parent.is_alive():  # it ended before the kernel was told
        os._exit(1)

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="end-with-parent").start()
