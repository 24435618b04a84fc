"""Sends signals to the judge and its helpers, by every call that can.

Success: a signal is taken.
"""
import os
import signal

from kit import attempt, call, gained, world

for pid in (*world["pids"].values(), os.getppid(), 1, -1, 0):
    for number in (0, signal.SIGSTOP, signal.SIGKILL):
        if pid != 1 and attempt(os.kill, pid, number) is None and call("kill", pid, number) >= 0:
            gained(f"kill {pid}")
    if call("rt_sigqueueinfo", pid, 9, None) >= 0 or call("tkill", pid, 9) >= 0 or call("tgkill", pid, pid, 9) >= 0:
        gained(f"a signal to {pid}")
    fd = call("pidfd_open", pid, 0)
    if fd >= 0 or call("pidfd_send_signal", fd, 9, None, 0) >= 0:
        gained(f"a handle of {pid}")
attempt(os.killpg, 0, signal.SIGKILL)
