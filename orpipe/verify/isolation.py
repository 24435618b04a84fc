"""What holds a judged program: layers of the kernel, each used where it exists and named in every run.

    user, pid               namespaces, made by the warm parent; a user namespace only where root powers are missing
    network, ipc, mount     namespaces of the run: no interface, no shared memory; a file tree that holds the interpreter,
                            the libraries and a small work folder in memory that is gone with the run (see root.py)
    threads                 a user of its own for each run, so that it may have few threads without regard to others
    limits                  address space, processor time, file size, open files, no core dumps
    capabilities            none left, none to be had again
    landlock                reads the interpreter and the libraries, writes the work folder, nothing else
    seccomp                 no sockets, processes, signals, tracing (see seccomp.py)

A layer that the kernel lacks is left out of the plan; a layer of the plan that fails in a run is the sandbox's fault
and the program does not start.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import json
import os
import resource
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orpipe.verify import root, seccomp
from orpipe.verify.kernel import check, fork, libc, prctl, setns, unshare

_NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x8000000, 0x10000000, 0x20000000, 0x40000000
_NAMESPACES = {"network": _NEWNET, "ipc": _NEWIPC, "mount": root.NEWNS}
_JOINED = {"network": _NEWNET, "ipc": _NEWIPC}  # may be used again
_NAMES = {"network": "net", "ipc": "ipc"}  # as the kernel calls them
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 1, 4, 24, 38, 47
_SIGKILL = 9
_LL_CREATE, _LL_ADD, _LL_RESTRICT = 444, 445, 446  # the same on every architecture
_CAPSET = {"x86_64": 126, "aarch64": 91}
_MACHINE = os.uname().machine
_CAP_HEADER = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
_NO_CAPS = ctypes.create_string_buffer(24)
_READ_FILE, _READ_DIR, _WRITE_FILE, _TRUNCATE = 1 << 2, 1 << 3, 1 << 1, 1 << 14
_FILE_ONLY = 1 | _WRITE_FILE | _READ_FILE | _TRUNCATE | 1 << 15
THREADS = 64  # of a run; libraries with one worker start a few
_USERS = (0x70000000, 40000)  # where numbers of users begin that nobody has; a container maps only low ones

WHAT = {
    "user": "user namespace", "pid": "process namespace", "network": "network namespace", "ipc": "ipc namespace",
    "mount": "own read-only file tree, work folder in memory", "threads": "few threads", "limits": "resource limits",
    "capabilities": "no capabilities", "landlock": "landlock file rules", "seccomp": "seccomp system call filter",
}
FULL = frozenset(WHAT) - {"user"}  # a user namespace only stands in for root's powers
NOT_NEEDED = "not needed: this process may make namespaces"


@dataclass(frozen=True, slots=True)
class Layer:
    name: str
    what: str
    available: bool
    reason: str = ""  # why not; or why an available layer is not used


def isolation_level(layers: Iterable[str]) -> Literal["full", "partial"]:
    """"full" if no layer of FULL is missing from these names, as a Run has them or `available_layers` finds them."""
    return "partial" if FULL - set(layers) else "full"


# ---------------------------------------------------------------------------------------------------- the warm parent


def become_root_inside() -> str:
    """Enter a user namespace where namespaces cannot be made otherwise: "" when done, NOT_NEEDED, or why it failed.

    Must run while the process has one thread.
    """
    if _attempt(lambda: unshare(_NEWNET)) == "":
        return NOT_NEEDED
    reason = _attempt(_enter_user_namespace)
    if not reason:
        _enter_user_namespace()
    return reason


def _enter_user_namespace() -> None:
    """A new user namespace in which this user is itself.  Fails after the fact where maps may not be written: try it out
    in a child first."""
    uid, gid = os.getuid(), os.getgid()
    unshare(_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def become_first_process() -> str:
    """Go on as the first process of a new process namespace, the caller's process staying behind to wait; "" or why not.

    With it everything below dies at once, and runs may get namespaces of their own (`fork_into_pid_namespace`).  Descriptors
    above 2 are closed in the process that stays.
    """
    reason = _attempt(_try_pid)
    if reason:
        return reason
    unshare(_NEWPID)
    pid = os.fork()
    if pid:
        os.closerange(3, 4096)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
    prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    return ""


def plan(base: str, read: tuple[str, ...]) -> dict[str, str]:
    """Layer name -> "" if it works here, else why not, for all but "user" and "pid"; tried in forked children.

    base: an empty folder.
    """
    found = {name: _attempt(functools.partial(unshare, flag)) for name, flag in _NAMESPACES.items()}
    return found | {
        "mount": _attempt(functools.partial(_try_mount, base, read)), "threads": _attempt(_try_threads),
        "limits": _attempt(lambda: _limits(4 << 30, 60, 1 << 20, 0)), "capabilities": _attempt(_drop_capabilities),
        "landlock": _attempt(lambda: _restrict(landlock_rules(read, base))), "seccomp": _attempt(seccomp.install),
    }


def _try_mount(base: str, read: tuple[str, ...]) -> None:
    root.build(read, base)
    unshare(root.NEWNS)
    root.mount_work(1 << 20)
    Path(root.WORK, "x").write_text("x")


def _try_threads() -> None:
    set_user(0)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    _drop_capabilities()
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        return
    raise OSError("the number of threads cannot be limited")


def _attempt(step: Callable[[], object]) -> str:
    """Run a step in a forked child: "" if it works, else the error."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        reason = ""
        try:
            step()
        except BaseException as error:
            reason = str(error) or type(error).__name__
        finally:
            os.write(write_end, reason.encode()[:200] + b".")
            os._exit(0)
    os.close(write_end)
    with open(read_end, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return answer[:-1].decode() if answer.endswith(b".") else "the trial was killed"


def _try_pid() -> None:
    unshare(_NEWPID)
    if os.fork() == 0:
        code = 1
        with contextlib.suppress(OSError):
            if fork_into_pid_namespace(open_pid_namespace()) == 0:
                os._exit(0)
            code = os.waitstatus_to_exitcode(os.wait()[1])
        os._exit(code)
    if os.waitstatus_to_exitcode(os.wait()[1]):
        raise OSError("process namespaces cannot be nested")


def open_pid_namespace() -> int:
    return os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)


def fork_into_pid_namespace(own: int) -> int:
    """fork(), the child being the first process of a new pid namespace: when it ends, the kernel ends its offspring."""
    unshare(_NEWPID)
    try:
        pid = fork()
    except OSError:
        setns(own, _NEWPID)
        raise
    if pid:
        setns(own, _NEWPID)
    return pid


# --------------------------------------------------------------------------------------------------- the forked child


@dataclass
class Cell:
    """How one warm parent's children are confined: made before they are forked, used after.

    disk: bytes of the work folder that is mounted before the program is known; vm_size: bytes of address space the parent
    has; rules: a landlock rule set, or -1 where it must be made for each run.
    """

    layers: frozenset[str]
    read: tuple[str, ...]
    disk: int
    vm_size: int = 0
    rules: int = -1

    def __post_init__(self) -> None:
        self.mounted = "mount" in self.layers
        self._new = functools.reduce(int.__or__, (flag for name, flag in _NAMESPACES.items() if name in self.layers), 0)
        self._joined = functools.reduce(int.__or__, (flag for name, flag in _JOINED.items() if name in self.layers), 0)

    def namespaces(self, count: int) -> list[tuple[int, ...]]:
        """So many sets of descriptors of network and ipc namespaces, each for one run at a time.

        They are used again, which saves a tenth of a small run: where seccomp forbids sockets and queues nothing can stay in
        them.  Elsewhere there are none, and each run makes its own.  Afterwards this process is in new ones itself.
        """
        if not self._joined or "seccomp" not in self.layers:
            return []
        found = []
        names = [_NAMES[name] for name in _JOINED if name in self.layers]
        with contextlib.suppress(OSError):  # too many for this machine, or no /proc: runs make their own
            for _ in range(count):
                unshare(self._joined)
                found.append(tuple(os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in names))
            unshare(self._joined)
        return found

    def enter(self, namespaces: tuple[int, ...] | None) -> None:
        """Join these namespaces, or new ones; with "mount", after root.build, mount an empty work folder."""
        flags = self._new
        if namespaces is not None:
            for fd in namespaces:
                setns(fd, 0)
            flags &= ~self._joined
        if flags:
            unshare(flags)
        if self.mounted:
            root.mount_work(self.disk)

    def lock(self, work: str, number: int, rules: int, seconds: float, memory: int, file_size: int) -> None:
        """Give up limits, capabilities, files and system calls, in this order, for good.  Sizes in bytes."""
        layers = self.layers
        if "threads" in layers:
            set_user(number)
        prctl(_PR_SET_PDEATHSIG, _SIGKILL)
        prctl(_PR_SET_DUMPABLE, 0)
        prctl(_PR_SET_NO_NEW_PRIVS, 1)
        if "limits" in layers:
            _limits(max(memory, self.vm_size + memory // 2), int(seconds) + 2, file_size,
                    THREADS if "threads" in layers else 0)
        if "capabilities" in layers:
            _drop_capabilities()
        if "landlock" in layers:
            # What is mounted below root.PLACE later is below it for landlock too: one set serves all runs.
            _restrict(rules if rules >= 0 else landlock_rules(self.read, work))
        if "seccomp" in layers:
            seccomp.install(self.mounted)


def set_user(number: int) -> None:
    """Be counted apart: as another real user, files being accessed as before, or in a user namespace below.

    Root is counted but never refused a thread, hence the other user.
    """
    if os.geteuid() == 0:
        for first in _USERS:
            try:
                os.setresuid(first + number % 20000, 0, 0)
                return
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.EPERM):
                    raise
    unshare(_NEWUSER)


def _limits(memory: int, cpu: int, file_size: int, threads: int) -> None:
    """0 threads: not limited."""
    for kind, value in (
        (resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, cpu), (resource.RLIMIT_FSIZE, file_size),
        (resource.RLIMIT_NOFILE, 128), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0), (resource.RLIMIT_NPROC, threads),
    ):
        if kind == resource.RLIMIT_NPROC and not threads:
            continue
        hard = resource.getrlimit(kind)[1]
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (limit, limit))


def drop_bounds() -> None:
    """Take from this process and its children what execve might give back; what they hold they keep."""
    for capability in range(64):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # the first unknown one, or no right to drop: no_new_privs holds without it
    libc.prctl(_PR_CAP_AMBIENT, 4, 0, 0, 0)


def _drop_capabilities() -> None:
    if _MACHINE not in _CAPSET:
        raise OSError(f"no capset number for {_MACHINE}")
    check(libc.syscall(_CAPSET[_MACHINE], _CAP_HEADER, _NO_CAPS), "capset")


def landlock_rules(read: Iterable[str], work: str) -> int:
    """A rule set, as a descriptor: look at `read`, do anything but execute below `work`, write to /dev/null."""
    abi = check(libc.syscall(_LL_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1)), "landlock")
    every = (1 << (13, 14, 15, 15, 16)[min(abi, 5) - 1]) - 1
    # then TCP bind and connect (ABI 4), abstract sockets and signals (ABI 6)
    rules = struct.pack("QQQ", every, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    attributes = ctypes.create_string_buffer(rules)
    ruleset = check(libc.syscall(_LL_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint(0)), "landlock rules")
    look, write = _READ_FILE | _READ_DIR, _READ_FILE | _WRITE_FILE
    for path, access in (*((p, look) for p in read), ("/dev/null", write), (work, every & ~1)):
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        allowed = access & every
        if not os.path.isdir(path):
            allowed &= _FILE_ONLY
        rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed, fd))
        check(libc.syscall(_LL_ADD, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint(0)), f"landlock {path}")
        os.close(fd)
    return ruleset


def _restrict(rules: int) -> None:
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    check(libc.syscall(_LL_RESTRICT, rules, 0), "landlock")
    os.close(rules)


# --------------------------------------------------------------------------------------------------------- for doctor


def available_layers() -> tuple[Layer, ...]:
    """Which layers this machine offers to this user, tried out in a fresh interpreter (about 0.1 s)."""
    root = str(Path(__file__).resolve().parents[2])
    code = (f"import sys; sys.path.insert(0, {root!r})\n"
            "import json, tempfile; from orpipe.verify import isolation as i\n"
            "with tempfile.TemporaryDirectory() as d:\n"
            "    user, pid = i.become_root_inside(), i.become_first_process()\n"
            "    print(json.dumps({'user': user, 'pid': pid, **i.plan(d, ('/usr',))}), flush=True)")
    done = subprocess.run([sys.executable, "-s", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["the trial ended without an answer"])[-1]
        return tuple(Layer(name, what, False, reason) for name, what in WHAT.items())
    found = json.loads(done.stdout)
    return tuple(Layer(name, what, found[name] in ("", NOT_NEEDED), found[name]) for name, what in WHAT.items())
