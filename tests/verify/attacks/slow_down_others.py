"""Takes processor time from others: their priority, their processors, their limits, its own priority.

Success: any of these is changed, or its own share grows.
"""
import os
import resource

from kit import attempt, gained, world

for pid in (*world["pids"].values(), os.getppid() or 1):
    if attempt(os.setpriority, os.PRIO_PROCESS, pid, 19) is None and attempt(os.getpriority, os.PRIO_PROCESS, pid) == 19:
        gained(f"the priority of {pid}")
    for change in (lambda: os.sched_setaffinity(pid, {0}) or True, lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)) or True,
                   lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (4, 4))):
        if attempt(change) is not None:
            gained(f"{pid} by {change}")
for change in (lambda: os.setpriority(os.PRIO_USER, 0, 19) or True, lambda: os.nice(-5), lambda: os.setpriority(os.PRIO_PROCESS, 0, -10) or True,
               lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)) or True, lambda: os.sched_setparam(0, os.sched_param(1)) or True):
    if attempt(change) is not None:
        gained(change)
