"""Programs are run confined, ended in time, and told apart by what became of them; nothing of them stays."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orpipe.errors import NotFound, UsageError
from orpipe.verify.clearing import remove_tree
from orpipe.verify.isolation import FULL, WHAT, available_layers, isolation_level
from orpipe.verify.sandbox import Job, Limits, Pool, Run

GOOD = """
import highspy
h = highspy.Highs(); h.setOptionValue("output_flag", False)
x = h.addVariable(lb=0, ub=4, name="x"); h.addConstr(2 * x <= 7, name="r"); h.maximize(x)
print("optimal_value =", h.getObjectiveValue())
"""
QUICK = Limits(seconds=1.0)
CROWD = """
import threading, time
n = 0
try:
    while n < 5000:
        threading.Thread(target=time.sleep, args=(2,), daemon=True).start(); n += 1
except RuntimeError:
    pass
print(n); time.sleep(1)
"""
FEW = "import threading\nt = [threading.Thread(target=int) for _ in range(7)]\n[x.start() for x in t]\n[x.join() for x in t]\nprint(len(t))"
LAYERS = {layer.name for layer in available_layers() if layer.available}
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(workers=2, limits=Limits(seconds=60)) as made:
        yield made


def needs(*layers: str) -> pytest.MarkDecorator:
    missing = [layer for layer in layers if layer not in LAYERS]
    return pytest.mark.skipif(bool(missing), reason=f"this kernel lacks {', '.join(missing)}")


def good(run: Run) -> bool:
    return run.outcome == "ok" and run.stdout == "optimal_value = 3.5\n" and run.captured is not None


# ------------------------------------------------------------------------------------------------------------- outcomes


def test_a_good_program_is_told_in_full(pool: Pool) -> None:
    run = pool.run(GOOD)
    assert good(run) and run.message == "" and run.exception == "" and run.n_solves == 1 and run.library == "highspy"
    assert 0 < run.seconds < 60 and run.stderr == ""
    assert "limits" in run.layers and set(run.layers) <= set(WHAT)


def test_an_exception_keeps_its_type_message_and_place(pool: Pool) -> None:
    run = pool.run("def f(d):\n    return d['key']\n\nf({})\n")
    assert (run.outcome, run.exception, run.message) == ("exception", "KeyError", "'key'")
    assert run.traceback.splitlines()[1:3] == ['  File "program.py", line 4, in <module>', "    f({})"]
    assert "orpipe" not in run.traceback


@pytest.mark.parametrize(("program", "exception"), [
    ("x = = 1", "SyntaxError"), ("a\0b", "SyntaxError"), ("'\ud800'", "UnicodeEncodeError"), ("import nothing_like_it",
     "ModuleNotFoundError"), ("raise SystemExit(3)", "SystemExit"), ("input()", "EOFError"),
    ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "E"), ("raise KeyboardInterrupt", "KeyboardInterrupt"),
])
def test_every_way_to_fail_is_the_programs_exception(pool: Pool, program: str, exception: str) -> None:
    run = pool.run(program)
    assert run.outcome == "exception" and run.exception in (exception, "ValueError" if "\0" in program else "")


@pytest.mark.parametrize("program", ["", "print('optimal_value = 3.5')", "raise SystemExit", "import sys; sys.exit(0)"])
def test_a_program_without_a_solve_built_no_model(pool: Pool, program: str) -> None:
    run = pool.run(program)
    assert run.outcome == "no model" and run.captured is None and run.n_solves == 0


@pytest.mark.parametrize("program", ["import os; os._exit(0)", "import ctypes; ctypes.string_at(0)", "import os; os.abort()"])
def test_leaving_by_the_window_is_a_crash(pool: Pool, program: str) -> None:
    run = pool.run(GOOD + program)
    assert run.outcome == "crash" and run.message and run.captured is not None


def test_five_endless_programs_in_a_pool_of_four_then_a_good_one() -> None:
    with Pool(workers=4, limits=QUICK) as pool:
        start = time.monotonic()
        runs = pool.run_many([Job("while True: pass"), *[Job("import time; time.sleep(99)")] * 3,
                              Job("import signal\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: pass")])
        assert [run.outcome for run in runs] == ["timeout"] * 5 and time.monotonic() - start < 30
        assert good(pool.run(GOOD, limits=Limits()))


def test_a_solve_that_does_not_end_keeps_its_model(pool: Pool) -> None:
    run = pool.run(GOOD + "while True: pass", limits=Limits(seconds=3))
    assert run.outcome == "timeout" and run.captured is not None and run.captured.columns == ("x",)


@pytest.mark.parametrize("program", ["x = bytearray(8 << 30)", "x = []\nwhile True: x.append(bytearray(1 << 24))",
                                     "import numpy; numpy.ones((1 << 15, 1 << 15))"])
def test_a_memory_hog_is_stopped(pool: Pool, program: str) -> None:
    assert pool.run(program, limits=Limits(seconds=60, memory=1 << 29)).outcome == "memory"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_of_output_is_cut(pool: Pool, stream: str) -> None:
    run = pool.run(f"import sys\nwhile True: sys.{stream}.write('x' * 65536)")
    assert run.outcome == "output" and len(getattr(run, stream)) == Limits().output


def test_files_larger_than_allowed_cannot_be_written(pool: Pool) -> None:
    run = pool.run("f = open('big', 'wb')\nfor _ in range(40): f.write(bytes(1 << 20)); f.flush()")
    assert run.outcome == "exception" and run.exception == "OSError"


@needs("mount")
def test_the_work_folder_is_small(pool: Pool) -> None:
    run = pool.run("for k in range(99):\n    with open(f'f{k}', 'wb') as f: f.write(bytes(1 << 20))")
    assert run.outcome == "exception" and "No space left" in run.message


# ----------------------------------------------------------------------------------------------------------- confinement


def attempt(pool: Pool, code: str) -> Run:
    """Run code that must be refused; prints ALLOWED if it is not."""
    return pool.run("try:\n" + textwrap.indent(code, "    ") + "\n    print('ALLOWED')\nexcept OSError as e: print('refused', e.errno)")


@pytest.mark.parametrize("code", [
    "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
    "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
])
def test_there_is_no_network(pool: Pool, code: str) -> None:
    assert attempt(pool, code).stdout.startswith("refused")


@needs("seccomp")
@pytest.mark.parametrize("code", [
    "import os; os.fork()", "import subprocess; subprocess.run(['true'])", "import os; os.execv('/bin/true', ['true'])",
    "import os; os.posix_spawn('/bin/true', ['true'], {})", "import socket; socket.socketpair()",
    "import os; os.kill(os.getppid() or 1, 0)", "import os; os.kill(-1, 9)", "import socket; socket.socket()",
    "import resource; resource.prlimit(1, resource.RLIMIT_CPU)",
    "import multiprocessing as m; p = m.get_context('fork').Process(target=int); p.start()",
])
def test_processes_signals_and_sockets_are_refused(pool: Pool, code: str) -> None:
    assert attempt(pool, code).stdout.startswith("refused")


def test_a_fork_bomb_harms_nobody(pool: Pool) -> None:
    run = pool.run("import os\nwhile True:\n    try: os.fork()\n    except OSError: break", limits=Limits(seconds=5))
    assert run.outcome in ("no model", "timeout")
    assert good(pool.run(GOOD))


@needs("threads")
def test_a_crowd_of_threads_leaves_others_theirs(pool: Pool) -> None:
    crowd = pool.submit(Job(CROWD, library=""))
    assert all(pool.submit(Job(FEW, library="")).result().stdout == "7\n" for _ in range(3))
    assert int(crowd.result().stdout) < 100


def test_threads_are_allowed(pool: Pool) -> None:
    run = pool.run("import threading\nt = threading.Thread(target=lambda: print('from a thread')); t.start()")
    assert run.stdout == "from a thread\n"


@pytest.mark.skipif(not {"landlock", "mount"} & LAYERS, reason="this kernel has neither landlock nor mount namespaces")
def test_nothing_outside_the_work_folder_can_be_written(pool: Pool, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    targets = [tmp_path / "new", kept, Path("/dev/shm/orpipe-escape"), Path.home() / "orpipe-escape", ROOT / "orpipe-escape",
               Path(sys.prefix, "orpipe-escape")]
    for target in targets:
        assert attempt(pool, f"open({str(target)!r}, 'w').write('x')").stdout.startswith("refused"), target
        assert target == kept or not target.exists()
    assert attempt(pool, f"import os; os.unlink({str(kept)!r})").stdout.startswith("refused")
    assert attempt(pool, f"import os; os.chmod({str(kept)!r}, 0o777)").stdout.startswith("refused")
    assert kept.read_text() == "as it was"


@needs("mount")
def test_the_usual_temporary_folder_is_the_work_folder(pool: Pool) -> None:
    name = f"orpipe-escape-{os.getpid()}"
    for folder in ("/tmp", "/var/tmp"):
        run = pool.run(f"open({folder + '/' + name!r}, 'w').write('x'); import os; print(os.path.exists({name!r}), os.listdir('.'))")
        assert run.stdout.startswith("True") and not Path(folder, name).exists()


@needs("mount")
def test_libraries_below_the_temporary_folder_are_found_there_and_it_is_the_work_folder_all_the_same() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        for name in ("site-packages", "private"):
            Path(place, name).mkdir()
            Path(place, name, "shipped.py").write_text("SAID = 'from there'")
        program = f"""
import os
import shipped
print(shipped.SAID, open({place!r} + "/site-packages/shipped.py").read() == "SAID = 'from there'", os.path.exists({place!r} + "/private"))
for folder in ("/tmp", "/var/tmp", "."):
    with open(folder + "/mine", "a") as file:
        file.write("x")
print(open("mine").read(), sorted(os.listdir("."))[0])
for forbidden in (shipped.__file__, {place!r} + "/site-packages/more.py", {place!r} + "/private/shipped.py"):
    try:
        open(forbidden, "a")
    except OSError as error:
        print(type(error).__name__)
"""
        code = f"import sys; sys.path[:0] = {[str(ROOT), f'{place}/site-packages']!r}\nfrom orpipe.verify.sandbox import Pool\n" \
               f"with Pool() as pool:\n    for _ in range(2):\n        run = pool.run({program!r})\n        print(run.stdout)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        said = ["from there True False", "xxx mine", "OSError", "OSError", "FileNotFoundError"]
        assert done.stderr == "" and done.stdout.split("\n") == [*said, "", *said, "", ""], done
        assert not Path("/tmp", "mine").exists()


@needs("landlock")
def test_nothing_but_the_interpreter_and_its_libraries_can_be_read(pool: Pool, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden data")
    for target in (secret, Path("/etc/hosts"), ROOT / "orpipe/verify/sandbox.py", Path(f"/proc/{os.getpid()}/status")):
        assert attempt(pool, f"print(open({str(target)!r}).read())").stdout.startswith("refused"), target
    assert attempt(pool, f"import os; print(os.listdir({str(tmp_path)!r}))").stdout.startswith("refused")


def test_the_environment_is_empty_and_the_folder_its_own(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "hidden")
    run = pool.run("import os, sys, tempfile\nprint(sorted(os.environ)); print(os.listdir('.'))\n"
                   "print(os.getcwd() == os.environ['HOME'] == tempfile.gettempdir(), sys.argv, __name__)", {"a/b.txt": "x"})
    names, files, rest = run.stdout.splitlines()
    assert "SOME_TOKEN" not in names and set(eval(names)) <= {
        "HOME", "TMPDIR", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LD_LIBRARY_PATH"}
    assert sorted(eval(files)) == ["a", "program.py"] and rest == "True ['program.py'] __main__"


def test_given_files_are_there_and_leftovers_are_gone(pool: Pool) -> None:
    first = pool.run("print(open('a/data.json').read()); open('left', 'w').write('over')\n"
                     "import os; os.mkdir('locked'); open('locked/x', 'w'); os.chmod('locked', 0)", {"a/data.json": "[1, 2]"})
    assert first.stdout == "[1, 2]\n"
    assert pool.run("import os; print(sorted(os.listdir('.')))").stdout == "['program.py']\n"


def test_nothing_stays_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Pool() as pool:
        pool.run("import os; open('left', 'w').write('over'); os.mkdir('d'); os.symlink('/', 'd/root'); os.chmod('d', 0)")
        base = next(tmp_path.iterdir())
        assert list(base.iterdir()) == [] or "mount" not in LAYERS
    assert list(tmp_path.iterdir()) == []


def test_a_weaker_kernel_is_served_by_the_layers_that_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # A grandchild with a session of its own must not outlive the run where nothing forbids it to be born.
    spawn = "import os, time\nif os.fork() == 0:\n    os.setsid(); open('pid', 'w'); time.sleep(60)\ntime.sleep(0.2)"
    for without in (["mount"], ["mount", "landlock", "seccomp", "network", "ipc", "capabilities"]):
        with Pool(without=without) as pool:
            assert good(run := pool.run(GOOD)) and not set(without) & set(run.layers)
            run = pool.run("open('left', 'w').write('x'); import os; os.mkdir('d'); os.chmod('d', 0)")
            # Where no mount guards the modes of files, none may be changed.
            assert run.outcome == ("exception" if "seccomp" in run.layers else "no model")
            if "seccomp" in without and "pid" in LAYERS:
                start = time.monotonic()
                assert pool.run(spawn).outcome == "no model" and time.monotonic() - start < 30
            assert pool.run("import os; print(os.listdir('.'))").stdout == "['program.py']\n"
        assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def interpreter() -> Iterator[list[str]]:
    """The beginning of a command that runs Python where users may reach it who may not enter this user's home."""
    if os.getuid() != 0 or shutil.which("setpriv") is None or shutil.which("unshare") is None:
        pytest.skip("needs root to give up")
    folder = tempfile.mkdtemp(prefix="orpipe-python-")
    os.chmod(folder, 0o755)
    inside = Path(sys.executable).resolve().relative_to(sys.base_prefix)
    mount = f"mount --bind '{sys.base_prefix}' '{folder}' && cd / && exec \"$@\""
    yield ["unshare", "-m", "sh", "-c", mount, "sh", "setpriv", "PLACE", "env", f"PYTHONPATH={sysconfig.get_paths()['purelib']}",
           f"LD_LIBRARY_PATH={folder}/lib",
           "PYTHONDONTWRITEBYTECODE=1", f"{folder}/{inside}"]
    os.rmdir(folder)


@pytest.mark.parametrize(("who", "level"), [
    (["--bounding-set=-all", "--inh-caps=-all"], "partial"), (["--reuid=65534", "--regid=65534", "--clear-groups"], "full"),
])
def test_lesser_users_are_served_by_the_layers_they_may_use(interpreter: list[str], who: list[str], level: str) -> None:
    at = interpreter.index("PLACE")
    run_as = [*interpreter[:at], *who, *interpreter[at + 1:]]
    probe = subprocess.run([*run_as, "-c", "import numpy, subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"],
                           capture_output=True, text=True, check=False)
    if probe.returncode:
        pytest.skip(f"this user cannot start the interpreter: {probe.stderr.strip().splitlines()[-1:]}")
    code = f"""
import sys; sys.path[:0] = {[str(ROOT)]!r}
from orpipe.verify.sandbox import Job, Pool, available_layers, isolation_level
with Pool(workers=2) as pool:
    run = pool.run({GOOD!r})
    print(run.outcome, run.stdout, run.message, pool.run("open('/usr/x', 'w')").exception)
    assert set(run.layers) == {{layer.name for layer in available_layers() if not layer.reason}}, run.layers
    assert isolation_level(run.layers) == isolation_level(layer.name for layer in available_layers() if layer.available)
    crowd = pool.submit(Job({CROWD!r}, library=""))
    few = all(pool.run({FEW!r}).stdout == "7\\n" for _ in range(3))
    print(few, crowd.result().stdout.strip(), isolation_level(run.layers))
"""
    done = subprocess.run([*run_as, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ok optimal_value = 3.5") and "PermissionError" in done.stdout, done
    last = done.stdout.splitlines()[-1].split()
    assert last[-1] == level or level == "full"  # a machine may forbid user namespaces
    if last[-1] == "full":
        assert last[0] == "True" and int(last[1]) < 100


# ------------------------------------------------------------------------------------------------------- tricks and faults


@pytest.mark.parametrize("code", [
    "import os; os.write(3, b'X' + (4).to_bytes(4, 'little') + b'oops')",
    "import os; os.write(3, b'C' + (4).to_bytes(4, 'little') + b'oops')",
    "import os; os.write(3, b'E' + (4).to_bytes(4, 'little') + b'oops')",
    "import os; os.write(3, b'Z' + (0).to_bytes(4, 'little'))",
    "import os; os.write(3, b'C' + (0xffffffff).to_bytes(4, 'little'))",
    "import os\nwhile True: os.write(3, b'X' + (60000).to_bytes(4, 'little') + bytes(60000))",
    "import os; os.close(3)", "import os; os.closerange(0, 99)",
    "import sys; sys.modules['orpipe.verify.capture'].RECORDER.sink = None; sys.stdout = None",
    "import os; os.write(3, b'D' + bytes(4)); os._exit(0)",
])
def test_writing_to_the_result_channel_never_makes_it_our_fault(pool: Pool, code: str) -> None:
    run = pool.run(code, limits=Limits(seconds=2))
    assert run.outcome in ("crash", "no model", "exception", "timeout") and run.captured is None
    assert good(pool.run(GOOD))


def test_a_program_sees_nothing_of_the_others(pool: Pool) -> None:
    spy = """
import sys, gc
found, frame = [], sys._getframe()
while frame: found += list(frame.f_locals.values()); frame = frame.f_back
runs = [r for v in found for r in getattr(v, 'runs', {}).values()]
print(len(runs))
"""
    slow = pool.submit(Job("import time; time.sleep(1); print('mine')", library=""))
    assert pool.submit(Job(spy, library="")).result().stdout == "0\n" and slow.result().stdout == "mine\n"


def test_a_lost_parent_is_our_fault_and_replaced() -> None:
    with Pool(workers=2) as pool:
        assert good(pool.run(GOOD))
        running = [pool.submit(Job(GOOD + "import time; time.sleep(60)", limits=Limits(seconds=90))) for _ in range(2)]
        time.sleep(0.5)
        assert pool._pump is not None
        os.killpg(pool._pump._parents["highspy"].process.pid, signal.SIGKILL)
        for run in [future.result() for future in running]:
            assert run.outcome == "sandbox" and "run the program again" in run.message
        assert good(pool.run(GOOD))


def test_a_closed_pool_answers_and_starts_again() -> None:
    pool = Pool()
    slow = pool.submit(Job("import time; time.sleep(60)"))
    waiting = pool.submit(Job(GOOD))
    time.sleep(0.3)
    pool.close()
    assert slow.result().outcome == "sandbox" and waiting.result().outcome == "sandbox"
    assert good(pool.run(GOOD))
    pool.close()


def test_bad_names_are_refused_at_once() -> None:
    with Pool() as pool:
        for name in ("/etc/x", "../x", "a/../../x", "", "program.py", "a\0b"):
            with pytest.raises(UsageError):
                pool.submit(Job(GOOD, {name: ""}))
    with pytest.raises(UsageError):
        Pool(workers=0)
    with pytest.raises(NotFound, match="did you mean 'landlock'"):
        Pool(without=["landlok"])


# ------------------------------------------------------------------------------------------------------------ concurrency


def test_results_come_in_the_order_of_the_jobs(pool: Pool) -> None:
    runs = pool.run_many(Job(f"import time; time.sleep({0.2 if k % 2 else 0}); print({k})") for k in range(8))
    assert [run.stdout for run in runs] == [f"{k}\n" for k in range(8)]


def test_large_programs_files_and_models_pass_both_ways_at_once(pool: Pool) -> None:
    program = """
import highspy, numpy as np
h = highspy.Highs(); h.setOptionValue("output_flag", False)
n = 60000; h.addVars(n, np.zeros(n), np.ones(n)); h.changeObjectiveSense(highspy.ObjSense.kMaximize)
h.changeColsCost(n, np.arange(n, dtype=np.int32), np.arange(n) / 7); h.run(); print(len(open("big.txt").read()))
"""
    for run in pool.run_many([Job(program, {"big.txt": "x" * 3_000_000})] * 6):
        assert run.outcome == "ok" and run.stdout == "3000000\n" and run.captured is not None
        assert run.captured.cost[-1] == 59999 / 7


def test_from_a_worker_thread_the_same(pool: Pool) -> None:
    found: list[Run] = []
    thread = threading.Thread(target=lambda: found.append(pool.run(GOOD)))
    thread.start()
    thread.join()
    assert good(found[0])


ELSEWHERE = f"""
import sys; sys.path[:0] = {[str(ROOT)]!r}
import os, highspy, threading
h = highspy.Highs(); h.setOptionValue("output_flag", False); h.setOptionValue("threads", 2)
h.setOptionValue("parallel", "on")
x = [h.addVariable(lb=0, ub=3, type=highspy.HighsVarType.kInteger) for _ in range(9)]
h.addConstr(sum((k + 2) * v for k, v in enumerate(x)) <= 40); h.maximize(sum(x))
from orpipe.verify.sandbox import Pool
pool = Pool(workers=2)
GOOD = {GOOD!r}
print(pool.run(GOOD).outcome, flush=True)
pid = os.fork()
if pid == 0:
    print(pool.run(GOOD).outcome, flush=True); pool.close(); os._exit(0)
os.waitpid(pid, 0)
print(pool.run(GOOD).outcome, flush=True)
"""


def test_pools_after_a_threaded_solve_in_several_processes_and_after_a_fork() -> None:
    both = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", ELSEWHERE], stdout=subprocess.PIPE, text=True)
            for _ in range(2)]
    assert [process.communicate(timeout=120)[0].split()[-3:] for process in both] == [["ok"] * 3] * 2
    assert [process.returncode for process in both] == [0, 0]


def test_an_interpreter_that_forgets_its_pool_leaves_nothing(tmp_path: Path) -> None:
    code = f"import sys; sys.path[:0] = {[str(ROOT)]!r}\nfrom orpipe.verify.sandbox import Pool, Job\n" \
           f"p = Pool(); print(p.run({GOOD!r}).outcome)\np.submit(Job('while True: pass'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True,
                          env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.stdout == "ok\n" and done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_a_pool_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    code = f"import os, sys; sys.path[:0] = {[str(ROOT)]!r}\nfrom orpipe.verify.sandbox import Pool, Job\n" \
           f"p = Pool(2); p.run({GOOD!r})\nf = p.submit(Job({GOOD!r} + 'while True: pass'))\nimport time; time.sleep(0.5)\n" \
           "print(p._pump._parents['highspy'].process.pid, flush=True); os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == -signal.SIGKILL
    for _ in range(100):
        if not list(tmp_path.iterdir()) and not Path("/proc", done.stdout.strip(), "fd").exists():
            break
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == [] and not _running("orpipe-sandbox-", str(tmp_path))


def _running(*words: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().decode(errors="replace")
                if all(word in line for word in words):
                    found.append(line)
    return found


# ---------------------------------------------------------------------------------------------------------------- the parts


def test_full_isolation_is_every_layer_but_the_stand_in() -> None:
    assert isolation_level(WHAT) == isolation_level(FULL) == "full" and set(WHAT) - FULL == {"user"}
    for name in FULL:
        assert isolation_level(set(WHAT) - {name}) == "partial"
    assert isolation_level([]) == "partial"


@pytest.mark.parametrize("depth", [3, 400])
def test_what_was_left_on_the_disk_is_removed_however_deep_or_locked(tmp_path: Path, depth: int) -> None:
    (tmp_path / "kept").write_text("x")
    base = tmp_path / "base"
    base.mkdir()
    here = os.getcwd()
    try:
        os.chdir(base)
        for k in range(depth):
            os.mkdir("d" * 60)
            os.symlink(tmp_path, "link")
            Path(f"f{k}").write_text("x")
            os.chdir("d" * 60)
        for _ in range(min(depth, 40)):
            os.chmod(".", 0)
            os.chdir("..")
    finally:
        os.chdir(here)
    remove_tree(str(base))
    remove_tree(str(base))
    assert sorted(os.listdir(tmp_path)) == ["kept"]
    (tmp_path / "link").symlink_to("kept")
    remove_tree(str(tmp_path / "link"))
    assert sorted(os.listdir(tmp_path)) == ["kept"]


def test_the_machines_layers_are_told_with_reasons() -> None:
    layers = available_layers()
    assert [layer.name for layer in layers] == list(WHAT)
    assert all(layer.available or layer.reason for layer in layers) and "limits" in LAYERS


@pytest.mark.parametrize("without", [(), ("pid",)])
def test_a_run_forked_without_the_interpreters_handlers_has_a_sound_interpreter(without: tuple[str, ...]) -> None:
    """Threads, locks, the main thread, its signals and temporary files work; `random` draws the same in every run."""
    program = ("import os, random, signal, tempfile, threading, concurrent.futures as f\n"
               "assert threading.current_thread() is threading.main_thread() and threading.active_count() == 1\n"
               "with f.ThreadPoolExecutor(3) as pool: assert list(pool.map(abs, [-1, -2])) == [1, 2]\n"
               "signal.signal(signal.SIGALRM, lambda *_: print('rang')); signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
               "threading.Event().wait(0.1)\n"
               "with tempfile.NamedTemporaryFile() as file: assert os.path.exists(file.name)\n"
               "print(random.random())")
    with Pool(2, without=without) as pool:
        runs = pool.run_many([Job(program, library="highspy")] * 3)
    assert [r.outcome for r in runs] == ["no model"] * 3, runs
    assert len({r.stdout for r in runs}) == 1 and runs[0].stdout.startswith("rang\n0.")
