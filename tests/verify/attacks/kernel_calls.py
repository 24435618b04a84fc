"""Tries what only the owner of a machine may do: modules, bpf, keys, clocks, names, swap, accounts, another kernel.

Success: the kernel does any of it.
"""
import ctypes
import time

from kit import attempt, call, gained, world

buffer = ctypes.create_string_buffer(4096)
for name in ("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "syslog",
             "sethostname", "setdomainname", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "quotactl", "bpf", "perf_event_open",
             "add_key", "request_key", "keyctl", "userfaultfd", "personality", "modify_ldt", "iopl", "ioperm", "uselib", "ustat", "sysfs",
             "lookup_dcookie", "vhangup", "move_pages", "migrate_pages", "memfd_secret", "sync"):
    if name in world["numbers"] and call(name, 1, buffer, 8, 0, 0) >= 0:
        gained(name)
for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC):
    if attempt(time.clock_settime, clock, 0.0) is None and abs(time.clock_gettime(time.CLOCK_REALTIME)) < 100:
        gained("the clock")
