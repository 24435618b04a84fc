"""Workers of a measurement end with their parent, even when it is killed and they are deep in a library that holds the interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PARENT = """
import os, re, sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from orpipe.testing.workers import end_with_parent

def busy(kind):
    sys.stdout.write(f"{os.getpid()}\\n")
    sys.stdout.flush()
    if kind == "sleep":
        time.sleep(600)
    re.match("(a+)+b", "a" * 64)  # for ages, and no other Python thread of the process runs meanwhile

if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=get_context("spawn"), initializer=end_with_parent) as pool:
        list(pool.map(busy, ["sleep", "match"]))
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_workers_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    program = tmp_path / "parent.py"
    program.write_text(PARENT)
    parent = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        assert len(set(workers)) == 2 and all(map(alive, workers))
        time.sleep(0.2)
        parent.send_signal(signal.SIGKILL)
        parent.wait(10)
        until = time.monotonic() + 10
        while any(map(alive, workers)) and time.monotonic() < until:
            time.sleep(0.05)
        left = [pid for pid in workers if alive(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left
    finally:
        parent.kill()
        parent.wait(10)
        assert parent.stdout is not None
        parent.stdout.close()
