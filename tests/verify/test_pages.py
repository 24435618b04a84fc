"""Memory of a warm parent: where small objects live, what is copied in a child, and that the interpreter notices nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orpipe.verify.sandbox import Pool

HEAD = """
import os, sys, json, ctypes
from orpipe.verify import pages
own = pages.gather()
if own is None:
    sys.exit("no glibc")
def heap():
    line = next(line for line in open("/proc/self/maps") if line.rstrip().endswith("[heap]"))
    return [int(each, 16) for each in line.split()[0].split("-")]
def resident(): return int(open("/proc/self/statm").read().split()[1]) * 4096
kept = [str(k) * 3 for k in range(200_000)]  # 12 MB of small objects
def inside(objects):
    low, high = heap()
    return sum(low <= id(each) < high for each in objects) / len(objects)
"""


def alone(code: str) -> dict[str, Any]:
    """What the program prints as JSON, in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True, timeout=60, check=False,
                          cwd=Path(__file__).resolve().parents[2])
    if "no glibc" in done.stderr:
        pytest.skip("another C library")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_small_objects_live_in_one_stretch_until_it_is_settled() -> None:
    found = alone("""
before = inside(kept)
pages.settle(own)
later = [bytes(400) for k in range(100_000)]  # 40 MB
full, beyond = resident(), inside(later)
del later
print(json.dumps({"before": before, "beyond": beyond, "back": full - resident(), "whole": all(v == str(k) * 3 for k, v in enumerate(kept))}))
""")
    assert found["before"] > 0.9 and found["beyond"] < 0.5 and found["whole"]
    assert found["back"] > 20 << 20, "new memory is given back as by any interpreter"


def test_new_objects_lie_side_by_side_once_holes_are_filled() -> None:
    found = alone("""
import gc
gc.collect()
kept = [each for k, each in enumerate(kept) if k % 32]  # holes all over
def spread(): return len({id(each) // 4096 for each in [str(k) * 3 for k in range(2000)]})
before = spread()
pages.fill()
after = spread()
pages.settle(own)
print(json.dumps({"before": before, "after": after, "whole": kept == [str(k) * 3 for k in range(200_000) if k % 32]}))
""")
    assert found["whole"] and found["after"] < 100 and found["before"] > 500


def test_a_program_prints_what_it_prints() -> None:
    """Nothing of the rehearsals is left in a buffer that children would empty."""
    with Pool(1) as pool:
        run = pool.run("import pulp\nprint('mine')")
    assert run.stdout == "mine\n" and not run.stderr


def test_what_a_run_writes_to_is_found_and_copied_for_the_child_alone() -> None:
    found = alone("""
pages.settle(own)
low, high = heap()
huge = [line for line in open("/proc/self/smaps") if line.startswith("AnonHugePages")]
def touch():
    for each in kept: each  # counts references
    for k in range(0, len(kept), 8): hold.append(kept[k])
hold = []
some, none = pages.written(touch), pages.written(lambda: None)
read, write = os.pipe()
pid = os.fork()
if pid == 0:
    pages.copy(some)
    word = ctypes.string_at(id(kept[0]), 8)
    touch()
    os.write(write, json.dumps([len(hold), all(v == str(k) * 3 for k, v in enumerate(kept))]).encode())
    os._exit(0)
os.waitpid(pid, 0)
print(json.dumps({"some": len(some), "none": len(none), "inside": all(low <= at < high and at % pages.HUGE == 0 for at in some),
                  "child": json.loads(os.read(read, 1000)), "parent": [len(hold), all(v == str(k) * 3 for k, v in enumerate(kept))],
                  "huge": sum(int(line.split()[1]) for line in huge)}))
""")
    if not found["huge"]:
        pytest.skip("this kernel gives no huge pages")
    assert found["some"] >= 4 > found["none"] and found["inside"]
    assert found["child"] == [25_000, True] and found["parent"] == [0, True]


def test_a_program_sees_what_was_set_aside_when_it_asks_for_it() -> None:
    """pulp would import every solver's library; without them its classes still stand for HiGHS."""
    program = """
import pulp, sys
print(sorted({"gurobipy", "coptpy"} & set(sys.modules)))
m = pulp.LpProblem("m", pulp.LpMaximize); x = pulp.LpVariable("x", 0, 4); m += x
for make in (pulp.GUROBI, pulp.COPT):
    solver = make(msg=False, timeLimit=5, gapRel=0.0)
    print(solver.available(), m.solve(solver), pulp.value(m.objective))
solver = pulp.GUROBI(manageEnv=True); m.solve(solver); solver.close()
import gurobipy
print(gurobipy.GRB.BINARY)
"""
    pytest.importorskip("gurobipy")
    with Pool(1) as pool:
        run = pool.run(program)
    assert run.outcome == "ok", run.message
    lines = run.stdout.splitlines()
    assert lines[0] == "[]" and lines[1:3] == ["True 1 4.0"] * 2 and lines[-1] == "B" and run.n_solves == 3
