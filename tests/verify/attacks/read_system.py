"""Reads what an attacker reads first.

Success: any of these files is read.
"""
from kit import attempt, gained

for path in ("/etc/passwd", "/etc/shadow", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/machine-id", "/proc/kallsyms", "/proc/version",
             "/proc/mounts", "/proc/net/tcp", "/proc/self/mountinfo", "/proc/cmdline", "/proc/keys", "/proc/sys/kernel/hostname",
             "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/class/net/lo/address", "/var/log/syslog", "/boot/config", "/dev/mem",
             "/dev/kmsg", "/dev/tty", "/dev/sda", "/dev/vda", "/dev/fuse", "/dev/kvm", "/run/docker.sock"):
    if attempt(lambda path=path: open(path, "rb").read(16)) is not None:
        gained(path)
