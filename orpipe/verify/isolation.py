"""What holds a judged program: layers of the kernel, each used where it exists and named in every run.

    user, pid               namespaces, made by the warm parent; a user namespace only where root powers are missing
    network, ipc, mount     namespaces of the run: no interface, no shared memory, everything mounted read-only except a
                            small work folder in memory that is gone with the run
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
import functools
import json
import os
import resource
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orpipe.verify import seccomp
from orpipe.verify.kernel import check, libc, prctl, setns, unshare

_NEWNS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_NAMESPACES = {"network": _NEWNET, "ipc": _NEWIPC, "mount": _NEWNS}
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 1, 24, 38, 47
_SIGKILL = 9
_MS_REC, _MS_PRIVATE, _MS_NOSUID, _MS_NODEV = 0x4000, 0x40000, 2, 4
_AT_FDCWD, _AT_RECURSIVE, _RDONLY, _NOSUID = -100, 0x8000, 1, 2
_MOUNT_SETATTR, _LL_CREATE, _LL_ADD, _LL_RESTRICT = 442, 444, 445, 446  # the same on every architecture
_CAPSET = {"x86_64": 126, "aarch64": 91}
_READ_FILE, _READ_DIR, _WRITE_FILE, _TRUNCATE = 1 << 2, 1 << 3, 1 << 1, 1 << 14
_FILE_ONLY = 1 | _WRITE_FILE | _READ_FILE | _TRUNCATE | 1 << 15

WHAT = {
    "user": "user namespace", "pid": "process namespace", "network": "network namespace", "ipc": "ipc namespace",
    "mount": "read-only mounts, work folder in memory", "limits": "resource limits", "capabilities": "no capabilities",
    "landlock": "landlock file rules", "seccomp": "seccomp system call filter",
}
NOT_NEEDED = "not needed: this process may make namespaces"


@dataclass(frozen=True, slots=True)
class Box:
    """One run's confinement.  Sizes in bytes, cpu in seconds; `processes` 0 means not limited."""

    work: str
    read: tuple[str, ...]
    memory: int
    cpu: int
    file_size: int
    disk: int
    processes: int = 0


@dataclass(frozen=True, slots=True)
class Layer:
    name: str
    what: str
    available: bool
    reason: str = ""  # why not; or why an available layer is not used


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


def plan(work: str, read: tuple[str, ...]) -> dict[str, str]:
    """Layer name -> "" if it works here, else why not, for all but "user" and "pid"; tried in forked children."""
    box = Box(work, read, 4 << 30, 60, 1 << 20, 1 << 20)
    found = {name: _attempt(functools.partial(enter, {name}, box)) for name in _NAMESPACES}
    found |= {name: _attempt(functools.partial(step, box)) for name, step in _LOCKS.items()}
    return found


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
    pid = os.fork()
    if pid:
        setns(own, _NEWPID)
    return pid


# --------------------------------------------------------------------------------------------------- the forked child


def enter(names: Iterable[str], box: Box) -> None:
    """Join new namespaces; with "mount", make everything read-only and mount an empty work folder over box.work."""
    chosen = set(names)
    flags = functools.reduce(int.__or__, (flag for name, flag in _NAMESPACES.items() if name in chosen), 0)
    if flags:
        unshare(flags)
    if "mount" in chosen:
        check(libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None), "private mounts")
        attributes = ctypes.create_string_buffer(struct.pack("QQQQ", _RDONLY | _NOSUID, 0, 0, 0))
        check(libc.syscall(_MOUNT_SETATTR, ctypes.c_int(_AT_FDCWD), b"/", ctypes.c_uint(_AT_RECURSIVE), attributes,
                           ctypes.c_size_t(32)), "read-only mounts")
        options = f"size={box.disk},nr_inodes=4096,mode=700".encode()
        check(libc.mount(b"tmpfs", box.work.encode(), b"tmpfs", ctypes.c_ulong(_MS_NOSUID | _MS_NODEV), options),
              "work folder in memory")


def lock(names: Iterable[str], box: Box) -> None:
    """Give up limits, capabilities, files and system calls, in this order, for good."""
    chosen = set(names)
    prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    for name, step in _LOCKS.items():
        if name in chosen:
            step(box)


def _limits(box: Box) -> None:
    wanted = {
        resource.RLIMIT_AS: box.memory, resource.RLIMIT_CPU: box.cpu, resource.RLIMIT_FSIZE: box.file_size,
        resource.RLIMIT_NOFILE: 128, resource.RLIMIT_CORE: 0, resource.RLIMIT_MEMLOCK: 0, resource.RLIMIT_MSGQUEUE: 0,
    }
    if box.processes:
        wanted[resource.RLIMIT_NPROC] = box.processes
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (limit, limit))


def _capabilities(_: Box) -> None:
    machine = os.uname().machine
    if machine not in _CAPSET:
        raise OSError(f"no capset number for {machine}")
    for capability in range(64):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # the first unknown one, or no right to drop: no_new_privs holds without it
    libc.prctl(_PR_CAP_AMBIENT, 4, 0, 0, 0)
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    check(libc.syscall(_CAPSET[machine], header, ctypes.create_string_buffer(24)), "capset")


def _landlock(box: Box) -> None:
    abi = check(libc.syscall(_LL_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1)), "landlock")
    every = (1 << (13, 14, 15, 15, 16)[min(abi, 5) - 1]) - 1
    # then TCP bind and connect (ABI 4), abstract sockets and signals (ABI 6)
    rules = struct.pack("QQQ", every, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    attributes = ctypes.create_string_buffer(rules)
    ruleset = check(libc.syscall(_LL_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint(0)), "landlock rules")
    look, write = _READ_FILE | _READ_DIR, _READ_FILE | _WRITE_FILE
    for path, access in (*((p, look) for p in box.read), ("/dev/null", write), (box.work, every & ~1)):
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
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    check(libc.syscall(_LL_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0)), "landlock")
    os.close(ruleset)


def _seccomp(_: Box) -> None:
    seccomp.install()


_LOCKS: Mapping[str, Callable[[Box], None]] = {
    "limits": _limits, "capabilities": _capabilities, "landlock": _landlock, "seccomp": _seccomp,
}


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
