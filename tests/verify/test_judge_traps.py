"""What published judges get wrong, through the whole judge: program -> sandbox -> captured model -> verdict."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orpipe.verify.against import weigh
from orpipe.verify.answers import Answer
from orpipe.verify.judge import Judge
from orpipe.verify.taxonomy import Failure
from orpipe.verify.truth import Truth
from orpipe.verify.verdict import Judgement, Policy, Solved, Verdict

REFUTED = {Verdict.NOT_EQUIVALENT, Verdict.WRONG_OPTIMUM}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge(workers=2, timeout=60) as made:
        made.warm("pulp")
        yield made


def parts(text: str) -> tuple[str, str, list[str], dict[str, tuple[str, str, bool]]]:
    """«min 2 x + y; x + y >= 3; x <= 4; with x in 0..5, z in 0..1 int»: sense, objective, rows, domains."""
    head, *rest = (part.strip() for part in text.split(";"))
    domains: dict[str, tuple[str, str, bool]] = {}
    rows = []
    for part in rest:
        if part.startswith("with "):
            for said in part.removeprefix("with ").split(","):
                found = re.fullmatch(r"\s*(\w+) in (-?\w+)\.\.(\w+)( int)?\s*", said)
                assert found is not None, said
                domains[found[1]] = (found[2], found[3], found[4] is not None)
        else:
            rows.append(part)
    sense, _, objective = head.partition(" ")
    for name in re.findall(r"[a-z]\w*", " ".join([objective, *rows])):
        domains.setdefault(name, ("0", "inf", False))
    return sense, objective, rows, domains


def program(text: str) -> str:
    sense, objective, rows, domains = parts(text)
    lines = ["import pulp", f"m = pulp.LpProblem('m', pulp.{'LpMaximize' if sense == 'max' else 'LpMinimize'})"]
    for name, (low, high, whole) in domains.items():
        sides = ", ".join("None" if side in ("inf", "-inf") else side for side in (low, high))
        lines.append(f"{name} = pulp.LpVariable('{name}', {sides}, pulp.{'LpInteger' if whole else 'LpContinuous'})")
    lines += [f"m += {re.sub(r'(?<=[0-9]) (?=[a-z])', ' * ', e).replace(' = ', ' == ')}" for e in [objective, *rows]]
    return "```python\n" + "\n".join([*lines, "m.solve()"]) + "\n```"


def reference(text: str) -> str:
    sense, objective, rows, domains = parts(text)
    bounds = [f" {low} <= {name} <= {high}" for name, (low, high, _) in domains.items()]
    whole = [name for name, domain in domains.items() if domain[2]]
    general = ["General", " " + " ".join(whole)] if whole else []
    return "\n".join(["Maximize" if sense == "max" else "Minimize", f" obj: {objective}", "Subject To",
                      *(f" r{k}: {row}" for k, row in enumerate(rows)), "Bounds", *bounds, *general, "End"])


ASSIGNMENT = "min a + b + c + d; a + b = 1; c + d = 1; a + c = 1; b + d = 1; with a in 0..1 int, b in 0..1 int, c in 0..1 int, d in 0..1 int"
SUPPLY = "min 4 x + 3 y + 10 z; x + y >= 6; x + 2 y - 9 z <= 0; with x in 0..5, z in 0..1 int"
EQUAL = {
    "a 2x2 assignment of equal costs against itself": (ASSIGNMENT, ASSIGNMENT),
    "... with variables of other names": (ASSIGNMENT, re.sub(r"\b([abcd])\b", r"go_\1", ASSIGNMENT)),
    "a row doubled": (SUPPLY, SUPPLY.replace("x + y >= 6;", "x + y >= 6; 2 x + 2 y >= 12;")),
    "a row negated": (SUPPLY, SUPPLY.replace("x + y >= 6", "- x - y <= -6")),
    "a bound written as a row": (SUPPLY, SUPPLY.replace("with x in 0..5,", "2 x <= 10; with")),
    "a singleton row beside a tighter bound": ("max x + y; x + y <= 9; with x in 0..3", "max x + y; x + y <= 9; x <= 8; with x in 0..3"),
    "max f as min -f": ("max 3 x + 2 y; x + 2 y <= 10; with y in 0..4", "min - 3 x - 2 y; x + 2 y <= 10; with y in 0..4"),
}
DIFFERENT = {
    "max for min with the same coefficients": ("min x + y; x + y = 3", "max x + y - 0; x + y = 3; x <= 2"),
    "max for min where both optima are 3": ("min x + y; x + y >= 3; x + y <= 5", "max x + y; x + y <= 3"),
    "-x >= -3 for x >= 3": ("max x; - x >= -3; x + y <= 9", "max x; x >= 3; x + y <= 9; x + 3 y <= 3"),
    "a singleton row that loosens a bound": ("max 2 y + x; x + 2 y <= 9; with x in 0..3", "max 2 y + x; x + 2 y <= 9; x <= 8"),
    "whole numbers where the optimum is whole anyway": ("max x; 2 x <= 6; with x in 0..9 int", "max x; 2 x <= 6; with x in 0..9"),
    "fractions where the optimum is whole anyway": ("max x; 2 x <= 6; with x in 0..9", "max x; 2 x <= 6; with x in 0..9 int"),
    "a constant of 5 at 1e7": ("max 1000000 x + 5; x <= 10; x + y <= 20", "max 1000000 x; x <= 10; x + y <= 20"),
    "a row that is slack here": ("max x + 3 y; x + 2 y <= 4; 2 x <= 6", "max x + 3 y; x + 2 y <= 4"),
}


@pytest.mark.parametrize("name", EQUAL)
def test_harmless_answers_are_equivalent(judge: Judge, name: str) -> None:
    a, b = EQUAL[name]
    row = judge.judge(program(b), reference=reference(a))
    assert row.verdict is Verdict.EQUIVALENT and row.optimum == "SAME_OPTIMUM" and row.evidence["tier"] == row.method, row


@pytest.mark.parametrize("name", DIFFERENT)
def test_wrong_answers_are_refuted_whatever_their_optimum(judge: Judge, name: str) -> None:
    a, b = DIFFERENT[name]
    row = judge.judge(program(b), reference=reference(a))
    assert row.verdict in REFUTED, row
    assert row.verdict is Verdict.WRONG_OPTIMUM or row.evidence["witness"]["point"] is not None
    itself = judge.judge(program(a), reference=reference(a))
    assert itself.verdict is Verdict.EQUIVALENT, itself


def test_the_optimum_alone_would_accept_most_of_them(judge: Judge) -> None:
    """Four of these six have the reference's optimum: that is what the comparison is for."""
    names = ["max for min where both optima are 3", "a singleton row that loosens a bound", "whole numbers where the optimum is whole anyway",
             "fractions where the optimum is whole anyway", "a row that is slack here", "a constant of 5 at 1e7"]
    rows = [judge.judge(program(DIFFERENT[n][1]), reference=reference(DIFFERENT[n][0])) for n in names]
    assert [r.optimum for r in rows].count("SAME_OPTIMUM") >= 4 and not any(r.passed for r in rows)


def test_quadratic_terms_are_never_ignored(judge: Judge) -> None:
    code = ("```python\nimport gurobipy as gp\nm = gp.Model()\nx = m.addVar(ub=4)\nm.addConstr(x >= 1)\nm.setObjective(x * x + x)\nm.optimize()\n```")
    row = judge.judge(code, 1, reference=reference("min x; x >= 1; with x in 0..4"))
    assert (row.verdict, row.failure) == (Verdict.UNDECIDED, Failure.UNSUPPORTED)
    lp = "Minimize\n obj: x + [ x ^2 ] / 2\nSubject To\n r: x >= 1\nEnd\n"
    row = judge.judge(program("min x; x >= 1"), 1, reference=lp)
    assert row.verdict is Verdict.SAME_OPTIMUM and "quadratic" in row.evidence["open"]


def test_tolerances_are_relative_and_nothing_is_rounded_to_five_percent(judge: Judge) -> None:
    large = program("max 1000000 x; x <= 10")
    assert judge.judge(large, 10000000.004).verdict is Verdict.SAME_OPTIMUM
    assert judge.judge(large, 10000100).verdict is Verdict.WRONG_OPTIMUM
    row = judge.judge(program("max x; x + y <= 104.9"), 100)
    assert row.verdict is Verdict.WRONG_OPTIMUM and row.rules == {"relative_1e-6": False, "rounded_5%": True}


def test_types_and_senses_are_not_flipped_until_it_matches(judge: Judge) -> None:
    row = judge.judge(program("max x; 2 x <= 7"), 3)
    assert (row.verdict, row.failure) == (Verdict.WRONG_OPTIMUM, Failure.INTEGRALITY)
    row = judge.judge(program("min x + y; x + y >= 2; x + y <= 5"), 5)
    assert (row.verdict, row.failure) == (Verdict.WRONG_OPTIMUM, Failure.SENSE)


def test_zero_and_nothing(judge: Judge) -> None:
    zero = "min x; x + y >= 2"
    assert judge.judge(program(zero), 0).verdict is Verdict.SAME_OPTIMUM
    assert judge.judge(program(zero), 0.01).verdict is Verdict.WRONG_OPTIMUM
    assert judge.judge(program(zero), reference=reference(zero)).verdict is Verdict.EQUIVALENT
    for text in ("", None, "```python\nprint('done')\n```"):  # no truth and no output is not right
        row = judge.judge(text, None)
        assert row.verdict is Verdict.ERROR and not row.passed
    assert judge.judge(program(zero), None).verdict is Verdict.UNDECIDED


def test_infeasible_and_unbounded_references(judge: Judge) -> None:
    empty, endless = "max x + y; x + y <= 1; x + y >= 2", "max x + y; x - y <= 1"
    for text in (empty, endless):
        row = judge.judge(program(text), reference=reference(text))
        assert row.verdict is Verdict.EQUIVALENT and row.optimum == "SAME_OPTIMUM", row
    assert judge.judge(program(endless.replace("<= 1", "<= 2")), reference=reference(endless)).verdict is Verdict.NOT_EQUIVALENT
    assert judge.judge(program(endless), reference=reference(empty)).verdict in REFUTED


def test_what_is_forbidden_is_forbidden_by_the_kernel_and_not_by_words(judge: Judge) -> None:
    hidden = "import pulp\nrun = getattr(__import__('o' + 's'), 'sys' + 'tem')\nprint(run('true'))\nopen('/etc/' + 'hosts').read()\n"
    row = judge.judge(f"```python\n{hidden}```", 3)
    assert (row.verdict, row.failure) == (Verdict.ERROR, Failure.FORBIDDEN)
    spoken = program("min x; x >= 3").replace("import pulp", "import pulp  # os.system, eval, open and subprocess are not used\neval('1')")
    assert judge.judge(spoken, 3).verdict is Verdict.SAME_OPTIMUM


def test_one_crash_ends_one_answer(judge: Judge) -> None:
    crash = "```python\nimport ctypes, pulp\nctypes.string_at(0)\n```"
    good = program("min x; x >= 3")
    rows = list(judge.judge_many(Answer(k, crash if k % 3 == 1 else good, 3, position=k) for k in range(7)))
    assert [r.verdict for r in rows] == [Verdict.ERROR if k % 3 == 1 else Verdict.SAME_OPTIMUM for k in range(7)]
    assert rows[1].failure is Failure.CRASH


def test_printing_the_number_and_patching_the_judge_change_nothing(judge: Judge) -> None:
    assert judge.judge("```python\nimport pulp\nprint('optimal_value = 3')\n```", 3).failure is Failure.NO_MODEL
    wrong = program("min x; x >= 4")
    patched = wrong.replace("import pulp", """import pulp, sys
for name, module in list(sys.modules.items()):
    if name.startswith("orpipe"):
        for key in list(vars(module)):
            if callable(getattr(module, key)) and key in ("decide", "agreement", "resolve", "compare", "weigh", "published"):
                setattr(module, key, lambda *a, **k: True)
pulp.value = lambda *a: 3
""").replace("m.solve()", "m.solve()\nprint('optimal_value = 3')\nm.objective.value = lambda: 3")
    for label in ({"truth": 3}, {"reference": reference("min x; x >= 3")}):
        row = judge.judge(patched, **label)
        assert row.verdict in REFUTED and row.objective == 4, row


def test_label_and_reference_that_contradict_each_other(judge: Judge) -> None:
    row = judge.judge(program(SUPPLY), 17, reference=reference(SUPPLY))
    assert (row.verdict, row.failure) == (Verdict.UNDECIDED, Failure.DISAGREEMENT) and "contradict" in row.reason


def test_a_swap_of_names_alone_decides_nothing_for_a_foreign_reference(judge: Judge) -> None:
    a, b = "min 2 x + 3 y; x + y >= 4; x <= 3", "min 3 x + 2 y; x + y >= 4; y <= 3"
    row = judge.judge(program(b), reference=reference(a))
    assert row.verdict is Verdict.SAME_OPTIMUM and "other quantities" in row.evidence["open"]


SAME, WRONG, OPEN = Verdict.SAME_OPTIMUM, Verdict.WRONG_OPTIMUM, Verdict.UNDECIDED


@pytest.mark.parametrize(("compared", "optimum", "verdict"), [
    ("EQUIVALENT", SAME, "EQUIVALENT"), ("EQUIVALENT", OPEN, "EQUIVALENT"), ("EQUIVALENT", WRONG, "UNDECIDED"),
    ("NOT_EQUIVALENT", SAME, "NOT_EQUIVALENT"), ("NOT_EQUIVALENT", WRONG, "NOT_EQUIVALENT"), ("NOT_EQUIVALENT", OPEN, "NOT_EQUIVALENT"),
    ("WRONG_OPTIMUM", SAME, "WRONG_OPTIMUM"), ("WRONG_OPTIMUM", OPEN, "WRONG_OPTIMUM"), ("WRONG_OPTIMUM", WRONG, "WRONG_OPTIMUM"),
    *((c, o, str(o)) for c in ("SAME_OPTIMUM", "UNDECIDED") for o in (SAME, WRONG, OPEN)),
])
def test_the_table_of_verdicts(compared: str, optimum: Verdict, verdict: str) -> None:
    assert weighed(compared, optimum).verdict == verdict


def weighed(compared: str, optimum: Verdict, mine: float = 30.0, tolerance: float = 1e-6, label: float = 29.0) -> Judgement:
    record = {"verdict": compared, "method": "m", "sentence": "it is so", "map": [], "witness": None, "direction": None, "seconds": 0.0,
              "evidence": {"optimum_a": 29.0, "optimum_b": mine, "status_a": "optimal", "status_b": "optimal"}, "senses": [True, True]}
    return weigh(Judgement(optimum, "reason"), record, Solved("optimal", True, mine), Truth.optimum(label, True), Policy(tolerance))


def test_a_looser_tolerance_holds_for_the_reference_too_and_a_label_of_its_own_is_told() -> None:
    assert weighed("WRONG_OPTIMUM", SAME, 29.01, tolerance=1e-3).verdict is SAME
    assert weighed("WRONG_OPTIMUM", SAME, 30.0, tolerance=1e-3).verdict is WRONG
    found = weighed("WRONG_OPTIMUM", SAME, 30.0, label=30.0)  # the label is not the reference's optimum
    assert found.verdict is OPEN and "contradict" in found.reason
    fault = weigh(Judgement(SAME, "reason"), {"fault": "out of time"}, Solved("optimal"), Truth.optimum(1), Policy())
    assert fault.verdict is SAME and fault.evidence["open"] == "out of time"


def test_algebra_is_read_and_compared_apart_from_the_judge(tmp_path: Path) -> None:
    """In a script without a main guard, in threads, and where the text makes the reader swell."""
    script = tmp_path / "script.py"
    script.write_text('''
from concurrent.futures import ThreadPoolExecutor
from orpipe.verify.judge import Judge
ref = "maximize\\n obj: 3 x + 2 y\\nsubject to\\n c: x + y <= 4\\nend\\n"
good = "Maximize 3x + 2y\\nSubject to:\\nx + y <= 4\\nx, y >= 0\\n"
texts = [good, good.replace("<= 4", "<= 5"), good.replace("<= 4", "<= 1e999999999"), good.replace("<= 4", "<= " + "(" * 4000 + "4" + ")" * 4000)]
with Judge(workers=2, algebra=True) as judge, ThreadPoolExecutor(4) as pool:
    for row in pool.map(lambda text: judge.judge(text, 12, reference=ref), texts):
        print(row.verdict, row.failure, flush=True)
''')
    root = str(Path(__file__).resolve().parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.path.join(root, "solvers")])}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, env=env)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["EQUIVALENT"] and lines[1].split()[0] in ("NOT_EQUIVALENT", "WRONG_OPTIMUM"), done.stderr[-500:]
    assert lines[2:] == ["UNDECIDED unsupported"] * 2
