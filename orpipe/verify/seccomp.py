"""The system calls a judged program may not make, as a seccomp filter (classic BPF) for x86-64 and arm64.

Denied with EPERM: sockets, starting a program or a process, signals, tracing and reading other processes, namespaces
and mounts, kernel modules, bpf, io_uring, keys, clocks, users and priorities, watching files, files in memory, System V
and POSIX queues.  `clone` is allowed for threads only; `clone3` answers ENOSYS, so that the C library falls back on
`clone`, whose flags a filter can read, and so do calls younger than this table.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from dataclasses import dataclass
from functools import cache

from orpipe.verify.kernel import check, libc

ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
_CLONE_THREAD, _CLONE3, _X32 = 0x10000, 435, 0x40000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_LAST = 451  # cachestat, of Linux 6.5; newer calls are not needed and not known

# Newer calls have the same number everywhere.
_COMMON = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_open": 434,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447,
    "process_mrelease": 448,
}
_X86 = {
    "shmget": 29, "shmat": 30, "shmctl": 31, "socket": 41, "connect": 42, "accept": 43, "sendto": 44, "sendmsg": 46,
    "bind": 49, "listen": 50, "socketpair": 53, "fork": 57, "vfork": 58, "execve": 59, "kill": 62, "semget": 64, "semop": 65,
    "semctl": 66, "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "ptrace": 101, "syslog": 103, "setuid": 105,
    "setgid": 106, "setreuid": 113, "setregid": 114, "setgroups": 116, "setresuid": 117, "setresgid": 119, "setfsuid": 122,
    "setfsgid": 123, "rt_sigqueueinfo": 129, "uselib": 134, "personality": 135, "ustat": 136, "sysfs": 139,
    "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144, "vhangup": 153, "modify_ldt": 154,
    "pivot_root": 155, "sysctl": 156, "adjtimex": 159, "chroot": 161, "sync": 162, "acct": 163, "settimeofday": 164,
    "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171,
    "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179, "tkill": 200,
    "lookup_dcookie": 212, "semtimedop": 220, "clock_settime": 227, "tgkill": 234, "mq_open": 240, "mq_unlink": 241,
    "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "ioprio_set": 251, "inotify_init": 253,
    "inotify_add_watch": 254, "migrate_pages": 256, "unshare": 272, "move_pages": 279, "accept4": 288, "inotify_init1": 294,
    "rt_tgsigqueueinfo": 297, "perf_event_open": 298, "fanotify_init": 300, "fanotify_mark": 301, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "clock_adjtime": 305, "syncfs": 306, "sendmmsg": 307, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "sched_setattr": 314, "memfd_create": 319,
    "kexec_file_load": 320, "bpf": 321, "execveat": 322, "userfaultfd": 323,
}
_ARM = {
    "lookup_dcookie": 18, "inotify_init1": 26, "inotify_add_watch": 27, "ioprio_set": 30, "umount2": 39, "mount": 40,
    "pivot_root": 41, "chroot": 51, "vhangup": 58, "quotactl": 60, "sync": 81, "acct": 89, "personality": 92,
    "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116,
    "ptrace": 117, "sched_setparam": 118, "sched_setscheduler": 119, "kill": 129, "tkill": 130, "tgkill": 131,
    "rt_sigqueueinfo": 138, "setpriority": 140, "reboot": 142, "setregid": 143, "setgid": 144, "setreuid": 145,
    "setuid": 146, "setresuid": 147, "setresgid": 149, "setfsuid": 151, "setfsgid": 152, "setgroups": 159,
    "sethostname": 161, "setdomainname": 162, "settimeofday": 170, "adjtimex": 171, "mq_open": 180, "mq_unlink": 181,
    "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190, "semctl": 191, "semtimedop": 192,
    "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196, "socket": 198, "socketpair": 199, "bind": 200, "listen": 201,
    "accept": 202, "connect": 203, "sendto": 206, "sendmsg": 211, "add_key": 217, "request_key": 218, "keyctl": 219,
    "execve": 221, "swapon": 224, "swapoff": 225, "migrate_pages": 238, "move_pages": 239, "rt_tgsigqueueinfo": 240,
    "perf_event_open": 241, "accept4": 242, "fanotify_init": 262, "fanotify_mark": 263, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "clock_adjtime": 266, "syncfs": 267, "setns": 268, "sendmmsg": 269, "process_vm_readv": 270,
    "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "sched_setattr": 274, "memfd_create": 279, "bpf": 280,
    "execveat": 281, "userfaultfd": 282, "kexec_file_load": 294,
}
# Modes, owners, times and attributes: landlock does not guard them, read-only mounts do.
_X86_MARKS = {
    "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94, "utime": 132, "setxattr": 188, "lsetxattr": 189,
    "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "utimes": 235, "fchownat": 260,
    "futimesat": 261, "fchmodat": 268, "utimensat": 280,
}
_ARM_MARKS = {
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "fchmod": 52,
    "fchmodat": 53, "fchownat": 54, "fchown": 55, "utimensat": 88,
}


@dataclass(frozen=True)
class Machine:
    """arch: the audit number; denied and marks: names and numbers; then the calls whose arguments decide."""

    arch: int
    denied: dict[str, int]
    marks: dict[str, int]
    clone: int
    prctl: int
    prlimit: int
    fcntl: int
    affinity: int


MACHINES = {
    "x86_64": Machine(0xC000003E, _X86 | _COMMON, _X86_MARKS, 56, 157, 302, 72, 203),
    "aarch64": Machine(0xC00000B7, _ARM | _COMMON, _ARM_MARKS, 220, 167, 261, 25, 122),
}
# F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY: ways to have signals sent
_SIGNALLING = (8, 10, 15, 1024, 1026)
_Instruction = tuple[int, int, int, int]
_ARGUMENT = (16, 24)  # where the low words of the first two arguments stand


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


def _only(numbers: tuple[int, ...], argument: int, otherwise: int) -> list[_Instruction]:
    """Answers EPERM if the argument is one of the numbers, or, with otherwise = EPERM, if it is none of them."""
    hit = ALLOW if otherwise == EPERM else EPERM
    tests = [_equal(number, len(numbers) - k, 0) for k, number in enumerate(numbers)]
    return [_load(_ARGUMENT[argument]), *tests, _answer(otherwise), _answer(hit)]


def _by_halves(numbers: list[int], cases: dict[int, list[_Instruction]]) -> list[_Instruction]:
    """Looks a number up in a sorted list: the kernel tries a filter with every number there is when it is installed."""
    if not numbers:
        return [_answer(ALLOW)]
    if len(numbers) == 1:
        found = cases.get(numbers[0], [_answer(EPERM)])
        return [_equal(numbers[0], 0, len(found)), *found, _answer(ALLOW)]
    middle = len(numbers) // 2
    left, right = _by_halves(numbers[:middle], cases), _by_halves(numbers[middle:], cases)
    if len(left) < 256:
        return [_at_least(numbers[middle], len(left), 0), *left, *right]
    return [_at_least(numbers[middle], 0, 1), (0x05, 0, 0, len(left)), *left, *right]


def program(machine: str, marks: bool = True) -> list[_Instruction]:
    """The filter for a machine name as `platform.machine()` gives it; `marks`: whether modes, owners and times of files may
    be changed.  Raises OSError for a machine without a table.
    """
    if machine not in MACHINES:
        raise OSError(f"no system call table for {machine}")
    m = MACHINES[machine]
    cases = {
        m.clone: [_load(_ARGUMENT[0]), _has_bits(_CLONE_THREAD, 1, 0), _answer(EPERM), _answer(ALLOW)],
        # A program that outlives the parent would escape the clock: it may not clear its death signal.
        m.prctl: _only((_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE), 0, ALLOW),
        m.prlimit: _only((0,), 0, EPERM), m.affinity: _only((0,), 0, EPERM),  # of itself only
        m.fcntl: _only(_SIGNALLING, 1, ALLOW), _CLONE3: [_answer(ENOSYS)],
    }
    numbers = sorted({*m.denied.values(), *({} if marks else m.marks).values(), *cases})
    return [
        _load(4), _equal(m.arch, 1, 0), _answer(KILL), _load(0),
        _at_least(_X32, 0, 1), _answer(KILL), _at_least(_LAST + 1, 0, 1), _answer(ENOSYS),
        *_by_halves(numbers, cases),
    ]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


@cache
def _compiled(marks: bool) -> tuple[_Program, ctypes.Array[ctypes.c_char]]:
    code = program(platform.machine(), marks)
    raw = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    return _Program(len(code), ctypes.cast(raw, ctypes.c_void_p).value), raw  # the pointer needs the buffer alive


def prepare(marks: bool) -> None:
    """Build the filter once in the parent; forked children inherit it."""
    _compiled(marks)


def install(marks: bool = True) -> None:
    """Confine this process for good.  Raises OSError where the kernel has no seccomp filters."""
    check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    check(libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.addressof(_compiled(marks)[0]), 0, 0), "seccomp")
