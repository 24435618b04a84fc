"""Makes and joins namespaces, mounts, changes its root.

Success: one is granted.
"""
import os

from kit import attempt, call, gained, libc, world

for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80, 0x10000000 | 0x20000):
    if call("unshare", bit) >= 0:
        gained(f"unshare {bit:#x}")
for fd in range(8):
    if call("setns", fd, 0) >= 0:
        gained("setns")
if libc.mount(b"none", b".", b"tmpfs", 0, b"") == 0 or libc.mount(b"/", b".", None, 0x1000, None) == 0 or libc.umount2(b".", 2) == 0:
    gained("a mount")
for name in ("pivot_root", "move_mount", "open_tree", "fsopen", "fspick", "fsmount", "fsconfig", "mount_setattr"):
    if call(name, b".", b".", 0, 0, 0) >= 0:
        gained(name)
if attempt(os.chroot, ".") is None and os.path.exists("/program.py"):
    gained("chroot")
if world["mounted"] and libc.mount(None, b"/", None, 0x20 | 0x1000, None) == 0:
    gained("a tree that can be written")
