"""The attack corpus, tests/verify/attacks: programs that try to read, change, reach, exhaust, outlive or deceive the judge.

    python -m orpipe.testing.attacks [NAME ...] [--without LAYER,...]

Each program's docstring says what would be success for it, and lines that say otherwise than usual what may become of it:
`Expect:` outcomes of a Run, `Seconds:` and `Memory:` (MiB) its limits.  A program tells what it got by lines that begin with
GAINED; what it should not have touched is looked at from outside as well.  While it runs an honest program is judged beside
it, and one after it, by the same pool and the same warm parent.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import resource
import secrets
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from orpipe.errors import NotFound
from orpipe.testing.command import checkout
from orpipe.verify.crew import Promise
from orpipe.verify.judge import Judge, VerdictRow
from orpipe.verify.outcome import Job, Limits, Run
from orpipe.verify.sandbox import Pool, isolation_level
from orpipe.verify.seccomp import MACHINES

FOLDER = "tests/verify/attacks"
TRUTH = 3.5
HONEST = """
import highspy
h = highspy.Highs(); h.setOptionValue("output_flag", False)
x = h.addVariable(lb=0, ub=4, name="x"); h.addConstr(2 * x <= 7, name="r"); h.maximize(x)
print("optimal_value =", h.getObjectiveValue())
"""
_USUAL = ("ok", "no model", "unsupported", "exception", "timeout", "memory", "output", "crash")
_SLACK = 8.0  # seconds of wall clock that ending, clearing up and judging may take on a busy machine
_SOLVE = 2.0  # seconds of our own solve, each solver


@dataclass(frozen=True)
class Attack:
    name: str
    text: str
    title: str
    success: str
    expect: tuple[str, ...]
    seconds: float
    memory: int

    @classmethod
    def read(cls, path: Path) -> Attack:
        text = path.read_text("utf-8")
        found = re.match(r'"""(.+?)\n\n(.+?)"""', text, re.DOTALL)
        if found is None or "Success:" not in found[2]:
            raise ValueError(f"{path}: an attack says in its docstring what it does and what would be success")
        lines = dict(re.findall(r"^(Expect|Seconds|Memory): (.+)$", found[2], re.MULTILINE))
        success = " ".join(re.split(r"^(?:Expect|Seconds|Memory):", found[2], maxsplit=1, flags=re.MULTILINE)[0].split())
        return cls(path.stem, text, " ".join(found[1].split()), success.removeprefix("Success: "),
                   tuple(re.split(r",\s*", lines["Expect"])) if "Expect" in lines else _USUAL,
                   float(lines.get("Seconds", 15)), int(lines.get("Memory", 2048)) << 20)


def attacks(names: Iterable[str] = ()) -> list[Attack]:
    chosen = set(names)
    paths = sorted(p for p in checkout(FOLDER).glob("*.py") if p.stem != "kit")
    for name in chosen - {path.stem for path in paths}:
        raise NotFound.among("attack", name, [path.stem for path in paths])
    return [Attack.read(path) for path in paths if not chosen or path.stem in chosen]


class _Pool(Pool):
    """Runs everything in the same warm parent, attacks under their own limits, and keeps what was promised of the last attack."""

    attack: Attack | None = None
    attacked: Promise[Run] | None = None

    def submit(self, job: Job) -> Promise[Run]:
        attack = self.attack
        if attack is None or job.program.strip() != attack.text.strip():
            return super().submit(replace(job, library="highspy"))
        limits = replace(job.limits or self.limits, seconds=attack.seconds, memory=attack.memory)
        self.attacked = super().submit(replace(job, library="highspy", limits=limits))
        return self.attacked


@dataclass(frozen=True)
class Trial:
    """One attack's run.  breaches: what it achieved, empty if it was contained."""

    attack: Attack
    run: Run
    row: VerdictRow
    seconds: float
    breaches: tuple[str, ...]
    honest_beside: bool
    honest_after: bool

    @property
    def contained(self) -> bool:
        return not self.breaches

    @property
    def well(self) -> bool:
        """Contained, and it cost no honest program its verdict."""
        return self.contained and self.honest_beside and self.honest_after


@dataclass
class Range:
    """A place to attack: a judge with its pool, and things around it that nobody should touch."""

    base: Path
    judge: Judge
    pool: _Pool
    victim: subprocess.Popen[bytes]
    layers: tuple[str, ...]
    world: dict[str, Any]
    heard: list[str] = field(default_factory=list)

    def trial(self, attack: Attack) -> Trial:
        data = {"kit.py": (checkout(FOLDER) / "kit.py").read_text("utf-8"), "target.json": json.dumps(self.world)}
        self.heard.clear()
        self.pool.attack, self.pool.attacked = attack, None
        before, parents, swollen = self._state(), self._parents(), _resident()
        start = time.monotonic()
        with ThreadPoolExecutor(1) as beside:
            neighbour = beside.submit(self._honest)
            row = self.judge.judge(f"```python\n{attack.text}```", TRUTH, data)
            seconds = time.monotonic() - start
            honest_beside = neighbour.result()
        run = self.pool.attacked.result() if self.pool.attacked is not None else Run("sandbox", "it was not run")
        honest_after = self._honest()
        breaches = [line for line in f"{run.stdout}\n{run.stderr}".splitlines() if line.startswith("GAINED")][:3]
        if run.captured is not None and any("GAINED" in name for name in (*run.captured.columns, *run.captured.rows)):
            breaches.append("a name smuggled something out")
        after = self._state()
        breaches += [f"{what} changed" for what in before if before[what] != after[what]]
        breaches += [f"reached {who}" for who in self.heard]
        checks = {
            f"judged {row.verdict.value}: {row.reason}": row.verdict.passed,
            f"called our fault: {run.message}": run.outcome == "sandbox" or row.failure.value in ("sandbox", "internal error"),
            f"ended as '{run.outcome}' ({run.message})": run.outcome not in attack.expect,
            f"took {seconds:.1f} s of {attack.seconds:g}": seconds > attack.seconds + _SLACK + (6 * _SOLVE + 10) * (run.captured is not None),
            "a warm parent was lost": self._parents() != parents,
            f"the judge took {_resident() - swollen >> 20} MiB": _resident() - swollen > 512 << 20,
            f"processes are left: {self._leftovers()}": bool(self._leftovers()),
            "an honest program beside it was misjudged": not honest_beside,
            "the next honest program was misjudged": not honest_after,
        }
        breaches += [what for what, wrong in checks.items() if wrong]
        return Trial(attack, run, row, seconds, tuple(breaches), honest_beside, honest_after)

    def _honest(self) -> bool:
        row = self.judge.judge(f"```python\n{HONEST}```", TRUTH)
        return row.verdict.passed and row.objective == TRUTH

    def _parents(self) -> set[int]:
        pump = self.pool._pump
        return {parent.process.pid for parent in pump._parents.values()} if pump is not None else set()

    def _leftovers(self) -> list[str]:
        """Processes below a warm parent, but for itself, its first process and one child in waiting."""
        for _ in range(60):
            below = [pid for parent in self._parents() for pid in _descendants(parent)]
            if len(below) <= 2 * len(self._parents()):
                return []
            time.sleep(0.05)
        return [f"{pid}" for pid in below]

    def _state(self) -> dict[str, Any]:
        """What attacks try to change, as it is seen from outside."""
        def tree(folder: Path, deep: bool = True) -> Any:
            found = {}
            for path in sorted(folder.rglob("*") if deep else folder.iterdir()):
                with contextlib.suppress(OSError):
                    s = path.lstat()
                    text = path.read_bytes() if deep and path.is_file() else b""
                    found[str(path)] = (s.st_mode, s.st_uid, s.st_nlink, s.st_mtime_ns if deep else 0, text)
            return found

        def names(folder: str) -> list[str]:
            return [name for name in sorted(os.listdir(folder)) if "orpipe-escape" in name or name.startswith("core")]

        pid = self.victim.pid
        folders = {os.getcwd(), "/", "/usr", "/etc", "/dev", "/dev/shm", str(Path.home()), tempfile.gettempdir(), sys.prefix,
                   self.world["repository"], sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"]}
        state: dict[str, Any] = {
            "the outside folder": tree(self.base / "outside"), "the secret's folder": tree(self.base / "private"),
            "a folder of the machine": {folder: names(folder) for folder in folders if os.path.isdir(folder)},
            "the libraries": [(s.st_mode, s.st_uid, s.st_mtime_ns) for s in (os.stat(json.__file__), os.stat(Path(json.__file__).parent))],
            "the victim": (self.victim.poll(), os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid),
                           resource.prlimit(pid, resource.RLIMIT_NOFILE)),
            "the machine's name": socket.gethostname(), "the judge's priority": os.getpriority(os.PRIO_PROCESS, 0),
            "the clock": abs(time.time() - self.world["epoch"] - time.monotonic()) < 60,
        }
        for kind in ("shm", "sem", "msg"):
            with contextlib.suppress(OSError):
                state[f"System V {kind}"] = len(Path(f"/proc/sysvipc/{kind}").read_text().splitlines())
        return state


def _descendants(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += [int(child), *_descendants(int(child))]
    return found


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def shooting_range(without: Iterable[str] = (), workers: int = 2) -> Iterator[Range]:
    """A range, set up and taken down.  The pool starts inside, so that its processes could inherit what is set here."""
    variable, machine = "ORPIPE_ATTACK_" + secrets.token_hex(4).upper(), MACHINES.get(platform.machine())
    heard: list[str] = []
    with contextlib.ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="orpipe-range-")))
        for name in ("outside", "private"):
            (base / name).mkdir()
        (base / "private" / "key").write_text("GAINED the secret")
        (base / "outside" / "kept").write_text("as it was")
        os.environ[variable] = secrets.token_hex(16)
        stack.callback(os.environ.pop, variable, None)
        abstract = "orpipe-" + secrets.token_hex(8)
        ports = {
            "tcp": _listen(stack, heard, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "udp": _listen(stack, heard, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "unix": _listen(stack, heard, socket.AF_UNIX, socket.SOCK_STREAM, str(base / "socket")),
            "abstract": _listen(stack, heard, socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract),
        }
        victim = subprocess.Popen(["sleep", "3600"])
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        pool = _Pool(workers, Limits(seconds=15), without)
        stack.enter_context(pool)
        judge = stack.enter_context(Judge(workers, timeout=15, solve_timeout=_SOLVE, pool=pool))
        mark = ("orpipe", "earlier", "run")
        spoken = "-".join(mark) + "-" + secrets.token_hex(8)
        earlier = f"print(open('data.txt').read())  # {spoken}"
        layers = pool.submit(Job(HONEST)).result().layers
        for _ in range(3):
            pool.submit(Job(earlier, {"data.txt": spoken * 9})).result()
        assert pool._pump is not None
        pids = {"judge": os.getpid(), "victim": victim.pid, "parent": pool._pump._parents["highspy"].process.pid}
        homely = [str(path) for path in Path.home().iterdir() if not sys.base_prefix.startswith(str(path))][:5]
        world = {
            "secret": str(base / "private" / "key"), "outside": str(base / "outside"), "kept": str(base / "outside" / "kept"),
            "home": str(Path.home()), "homely": homely, "repository": str(checkout(".")), "python": sys.executable,
            "variable": variable, "mark": mark, "pids": pids, "tcp": ports["tcp"][1], "udp": ports["udp"][1],
            "unix": ports["unix"], "abstract": abstract, "expected": TRUTH, "disk": Limits().disk,
            "mounted": "mount" in layers, "counted": "threads" in layers, "numbers": machine.denied if machine else {},
            "clone": machine.clone if machine else 0, "epoch": time.time() - time.monotonic(),
        }
        yield Range(base, judge, pool, victim, layers, world, heard)  # type: ignore[arg-type]


def _listen(stack: contextlib.ExitStack, heard: list[str], family: int, kind: int, where: Any) -> Any:
    """A listener that notes whoever comes; its address."""
    listener = stack.enter_context(socket.socket(family, kind))
    listener.bind(where)
    if kind == socket.SOCK_STREAM:
        listener.listen(16)

    def wait() -> None:
        with contextlib.suppress(OSError):
            while True:
                if kind == socket.SOCK_STREAM:
                    listener.accept()[0].close()
                else:
                    listener.recvfrom(64)
                heard.append(f"the listener at {where!r}")

    threading.Thread(target=wait, daemon=True).start()
    return listener.getsockname()


def table(trials: Iterable[Trial]) -> Iterator[str]:
    """Lines of text, the last a summary."""
    done = []
    yield f"{'attack':26} {'outcome':12} {'verdict':14} {'s':>5}  contained"
    for trial in trials:
        done.append(trial)
        yield (f"{trial.attack.name:26} {trial.run.outcome:12} {trial.row.verdict.value:14} {trial.seconds:5.1f}  "
               f"{'yes' if trial.contained else 'NO: ' + '; '.join(trial.breaches)}")
    yield (f"{sum(t.contained for t in done)}/{len(done)} contained; the honest program beside it judged right in "
           f"{sum(t.honest_beside for t in done)}/{len(done)}, the next one in {sum(t.honest_after for t in done)}/{len(done)}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the attack corpus against the judge of this machine.")
    parser.add_argument("names", nargs="*", help="attacks to run (default: all)")
    parser.add_argument("--without", default="", help="layers to leave out, by name with commas between")
    chosen = parser.parse_args(arguments)
    try:
        corpus = attacks(chosen.names)
    except NotFound as error:
        parser.error(str(error))
    ill = 0
    with shooting_range([name for name in chosen.without.split(",") if name]) as place:
        print(f"isolation {isolation_level(place.layers)}: {', '.join(place.layers)}", flush=True)

        def trials() -> Iterator[Trial]:
            nonlocal ill
            for attack in corpus:
                trial = place.trial(attack)
                ill += not trial.well
                yield trial

        for line in table(trials()):
            print(line, flush=True)
    return 1 if ill else 0


if __name__ == "__main__":
    sys.exit(main())
