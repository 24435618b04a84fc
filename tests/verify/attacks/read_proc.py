"""Looks at the judge and its helpers through /proc.

Success: anything of another process is read.
"""
import os

from kit import attempt, gained, world

for pid in (*world["pids"].values(), 1, os.getppid(), "self"):
    for name in ("environ", "cmdline", "maps", "status", "stat", "mem", "pagemap", "io", "wchan", "stack"):
        if attempt(lambda: open(f"/proc/{pid}/{name}", "rb").read(64)) is not None:
            gained(f"/proc/{pid}/{name}")
    for name in ("cwd", "root", "exe", "fd/0", "ns/net"):
        if attempt(os.readlink, f"/proc/{pid}/{name}") is not None:
            gained(f"/proc/{pid}/{name}")
    if attempt(os.listdir, f"/proc/{pid}/fd"):
        gained(f"the descriptors of {pid}")
