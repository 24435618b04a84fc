"""The system calls a judged program may not make, as a seccomp filter (classic BPF) for x86-64 and arm64.

Denied with EPERM: sockets, starting a program or a process, signals, tracing and reading other processes, namespaces
and mounts, kernel modules, bpf, io_uring, keys, clocks, System V and POSIX queues.  `clone` is allowed for threads
only; `clone3` answers ENOSYS, so that the C library falls back on `clone`, whose flags a filter can read.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from functools import cache

from orpipe.verify.kernel import check, libc

_ALLOW, _EPERM, _ENOSYS, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
_CLONE_THREAD = 0x10000
_X32 = 0x40000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_PR_SET_PDEATHSIG = 1

# Newer calls have the same number everywhere.
_COMMON = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_open": 434,
    "pidfd_getfd": 438, "mount_setattr": 442,
}
_X86 = {
    "shmget": 29, "shmat": 30, "socket": 41, "connect": 42, "accept": 43, "sendto": 44, "sendmsg": 46, "bind": 49,
    "listen": 50, "socketpair": 53, "fork": 57, "vfork": 58, "execve": 59, "kill": 62, "semget": 64, "msgget": 68,
    "ptrace": 101, "syslog": 103, "personality": 135, "pivot_root": 155, "adjtimex": 159, "chroot": 161, "acct": 163,
    "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
    "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
    "tkill": 200, "clock_settime": 227, "tgkill": 234, "mq_open": 240, "kexec_load": 246, "add_key": 248,
    "request_key": 249, "keyctl": 250, "unshare": 272, "accept4": 288, "perf_event_open": 298, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
    "kcmp": 312, "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "execveat": 322, "userfaultfd": 323,
}
_ARM = {
    "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "quotactl": 60, "acct": 89, "personality": 92,
    "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116,
    "ptrace": 117, "kill": 129, "tkill": 130, "tgkill": 131, "reboot": 142, "sethostname": 161, "setdomainname": 162,
    "settimeofday": 170, "adjtimex": 171, "mq_open": 180, "msgget": 186, "semget": 190, "shmget": 194, "shmat": 196,
    "socket": 198, "socketpair": 199, "bind": 200, "listen": 201, "accept": 202, "connect": 203, "sendto": 206,
    "sendmsg": 211, "add_key": 217, "request_key": 218, "keyctl": 219, "execve": 221, "swapon": 224, "swapoff": 225,
    "perf_event_open": 241, "accept4": 242, "name_to_handle_at": 264, "open_by_handle_at": 265, "clock_adjtime": 266,
    "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "bpf": 280,
    "execveat": 281, "userfaultfd": 282, "kexec_file_load": 294,
}
# audit architecture, denied numbers, then clone, clone3, prctl, prlimit64
_MACHINES = {
    "x86_64": (0xC000003E, _X86, 56, 435, 157, 302),
    "aarch64": (0xC00000B7, _ARM, 220, 435, 167, 261),
}
_Instruction = tuple[int, int, int, int]


def _load(offset: int) -> _Instruction:
    return (0x20, 0, 0, offset)


def _equal(value: int, yes: int, no: int) -> _Instruction:
    return (0x15, yes, no, value)


def _at_least(value: int, yes: int, no: int) -> _Instruction:
    return (0x35, yes, no, value)


def _has_bits(value: int, yes: int, no: int) -> _Instruction:
    return (0x45, yes, no, value)


def _answer(value: int) -> _Instruction:
    return (0x06, 0, 0, value)


def program(machine: str) -> list[_Instruction]:
    """The filter for a machine name as `platform.machine()` gives it.  Raises OSError for one without a table."""
    if machine not in _MACHINES:
        raise OSError(f"no system call table for {machine}")
    arch, denied, clone, clone3, prctl, prlimit = _MACHINES[machine]
    first_argument = 16
    code = [
        _load(4), _equal(arch, 1, 0), _answer(_KILL), _load(0),
        _at_least(_X32, 0, 1), _answer(_KILL),
        _equal(clone3, 0, 1), _answer(_ENOSYS),
        _equal(clone, 0, 4), _load(first_argument), _has_bits(_CLONE_THREAD, 1, 0), _answer(_EPERM), _answer(_ALLOW),
        # A program that outlives the parent would escape the clock: it may not clear its death signal.
        _equal(prctl, 0, 4), _load(first_argument), _equal(_PR_SET_PDEATHSIG, 0, 1), _answer(_EPERM), _answer(_ALLOW),
        _equal(prlimit, 0, 4), _load(first_argument), _equal(0, 1, 0), _answer(_EPERM), _answer(_ALLOW),
    ]
    numbers = sorted({*denied.values(), *_COMMON.values()})
    code += [_equal(number, len(numbers) - k, 0) for k, number in enumerate(numbers)]
    return [*code, _answer(_ALLOW), _answer(_EPERM)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


@cache
def _compiled() -> tuple[_Program, ctypes.Array[ctypes.c_char]]:
    code = program(platform.machine())
    raw = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    return _Program(len(code), ctypes.cast(raw, ctypes.c_void_p).value), raw  # the pointer needs the buffer alive


def prepare() -> None:
    """Build the filter once in the parent; forked children inherit it."""
    _compiled()


def install() -> None:
    """Confine this process for good.  Raises OSError where the kernel has no seccomp filters."""
    check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    check(libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.addressof(_compiled()[0]), 0, 0), "seccomp")
