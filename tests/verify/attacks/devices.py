"""Makes devices and pipes, and uses those that are there.

Success: a device that it may read or write and that is more than nothing, zeros or chance.
"""
import os
import stat

from kit import attempt, gained

for kind, device in ((stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFBLK, os.makedev(254, 0)), (stat.S_IFCHR, os.makedev(5, 0))):
    attempt(os.mknod, f"d{device}", kind | 0o666, device)
    if attempt(lambda device=device: open(f"d{device}", "rb").read(1)) is not None:
        gained(f"device {device}")
for name in attempt(os.listdir, "/dev") or ():
    if name not in ("null", "zero", "random", "urandom"):
        gained(f"/dev/{name}")
for name in ("zero", "random", "urandom"):
    if attempt(lambda name=name: open(f"/dev/{name}", "wb").write(b"x")) is not None:
        gained(f"writing to /dev/{name}")
