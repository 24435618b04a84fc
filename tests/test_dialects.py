"""Programs in every dialect: run, taken apart by the capture hooks and compared with the Problem; and how they read."""

from __future__ import annotations

import ast
import builtins
import csv
import io
import json
import keyword
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from models_for_tests import SAMPLES, Sample
from orpipe.algebra.build import Builder, sum_
from orpipe.errors import DataError, NotFound, OrpipeError, Unsupported
from orpipe.ground import ground
from orpipe.problem import Problem
from orpipe.render.dialects import Dialect, dialect, dialects
from orpipe.render.dialects.pyomo import Pyomo
from orpipe.render.emit import SOURCES, STYLES, emit, emit_parts, objective_code, row_code, variable_code
from orpipe.render.files import data_csv, data_json, schema, schema_text, tables
from orpipe.solve import Label, label
from orpipe.verify.replay import Script, printed, replay_many
from orpipe.verify.sandbox import Pool

PAIRS = [(source, style) for source in SOURCES for style in STYLES]
FEW = [("inline", "script"), ("json", "function"), ("csv", "script")]  # the rest does not depend on the dialect


@cache
def problem(name: str) -> Problem:
    return ground(SAMPLES[name].model, SAMPLES[name].data)


def program(s: Sample, name: str, source: str = "inline", style: str = "script") -> str:
    return emit(s.model, s.data, name, source=source, style=style, problem=problem(s.name))


def script(s: Sample, text: str) -> Script:
    found = label(problem(s.name))
    assert isinstance(found, Label) and found.status == s.status
    files = {"data.json": data_json(s.model, s.data), **data_csv(s.model, s.data)}
    return Script(text, problem(s.name), found.objective, s.status, files)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as running:
        yield running


# -- what programs build and find
@pytest.mark.parametrize("name", dialects())
def test_programs_build_the_problem_and_print_the_label(name: str, pool: Pool) -> None:
    cases = [(s, source, style) for s in SAMPLES.values() for source, style in (PAIRS if name == "highspy" else FEW)]
    done = replay_many(pool, [script(s, program(s, name, source, style)) for s, source, style in cases])
    faults = [f"{s.name} {source} {style}: {r.stage}: {r.reason}"
              for (s, source, style), r in zip(cases, done, strict=True) if not r.passed]
    assert not faults
    assert {s.name for s, _, _ in cases} == SAMPLES.keys()


def test_decisions_are_printed_and_auxiliaries_are_not(pool: Pool) -> None:
    for name in dialects():
        text = pool.run(program(SAMPLES["facility"], name)).stdout
        lines = dict(line.split(" = ") for line in text.splitlines() if " = " in line)
        assert {k: float(v) for k, v in lines.items()} == pytest.approx({
            "optimal_value": 197, "open[North]": 1,
            "ship[North,Alder]": 5, "ship[North,Birch]": 6, "ship[North,Cedar]": 4})
    assert "makespan =" not in pool.run(program(SAMPLES["shop"], "highspy")).stdout


@pytest.mark.parametrize("name", dialects())
def test_programs_run_outside_the_sandbox_too(name: str, tmp_path: Path) -> None:
    """Without hooks the solver is the one the program names: same optimum, true status."""
    for sample in SAMPLES:
        (tmp_path / f"{sample}.py").write_text(program(SAMPLES[sample], name), encoding="utf-8")
    ask = "import runpy, sys; [(print('#', p), runpy.run_path(p + '.py', run_name='__main__')) for p in sys.argv[1:]]"
    command = [sys.executable, "-c", ask, *SAMPLES]
    run = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    found = {block.partition("\n")[0]: printed(block) for block in run.stdout.split("# ")[1:]}
    assert found.keys() == SAMPLES.keys()
    for sample, said in found.items():
        expected = label(problem(sample))
        assert isinstance(expected, Label)
        if expected.status == "optimal":
            assert said.value == pytest.approx(expected.objective, rel=1e-6, abs=1e-9), sample
        else:
            assert said.status == expected.status or (expected.status == "unbounded" and "or" in said.status), sample


@pytest.mark.parametrize("name", dialects())
def test_a_wrong_program_does_not_pass(name: str, pool: Pool) -> None:
    s = SAMPLES["facility"]
    text = program(s, name)
    broken = [text.replace("<= capacity[i] *", "<= 2 * capacity[i] *"), text.replace("== demand[j]", ">= demand[j]"),
              text.replace('"Cedar"): 4', '"Cedar"): 4.5'), text.replace("in bakeries", "in bakeries[1:]", 1)]
    assert all(b != text for b in broken)
    assert {r.stage for r in replay_many(pool, [script(s, b) for b in broken])} <= {"model", "run"}


# -- how they read
GOLDEN = '''\
import pulp

depots = ["North", "South"]
bakeries = ["Alder", "Birch", "Cedar"]

# cost of keeping a depot open [EUR/day]
opening_cost = {"North": 120, "South": 90}
# most that a depot can dispatch [t/day]
capacity = {"North": 16, "South": 10}
# what a bakery needs [t/day]
demand = {"Alder": 5, "Birch": 6, "Cedar": 4}
# cost of carriage [EUR/t]
carriage = {
    ("North", "Alder"): 3, ("North", "Birch"): 7, ("North", "Cedar"): 5,
    ("South", "Alder"): 6, ("South", "Birch"): 2, ("South", "Cedar"): 4,
}

model = pulp.LpProblem("facility", pulp.LpMinimize)

# 1 if the depot is open
open_ = {i: pulp.LpVariable(f"open[{i}]", cat="Binary") for i in depots}
# amount sent from a depot to a bakery [t/day]
ship = {(i, j): pulp.LpVariable(f"ship[{i},{j}]", lowBound=0) for i in depots for j in bakeries}

# cost of open depots
opening = pulp.lpSum(opening_cost[i] * open_[i] for i in depots)
# cost of carriage
shipping = pulp.lpSum(carriage[i, j] * ship[i, j] for i in depots for j in bakeries)
model += opening + shipping

# every bakery receives exactly its demand
for j in bakeries:
    model += pulp.lpSum(ship[i, j] for i in depots) == demand[j], f"demand_met[{j}]"

# only open depots dispatch, up to capacity
for i in depots:
    model += pulp.lpSum(ship[i, j] for j in bakeries) <= capacity[i] * open_[i], f"capacity_if_open[{i}]"

model.solve(pulp.HiGHS(msg=False, threads=1, gapRel=0))
if model.status == pulp.LpStatusOptimal:
    print("optimal_value =", pulp.value(model.objective))
    for i in open_:
        if abs(open_[i].value()) > 1e-6:
            print(f"open[{i}] =", open_[i].value())
    for i, j in ship:
        if abs(ship[i, j].value()) > 1e-6:
            print(f"ship[{i},{j}] =", ship[i, j].value())
else:
    # presolve may call an unbounded model infeasible: solve without it to tell them apart
    model.solve(pulp.HiGHS(msg=False, threads=1, presolve="off"))
    print("status =", pulp.LpStatus[model.status].lower())
'''


def test_a_program_reads_as_a_person_would_write_it() -> None:
    assert program(SAMPLES["facility"], "pulp") == GOLDEN


def test_sections_make_up_the_program() -> None:
    for style in STYLES:
        s = SAMPLES["facility"]
        parts = emit_parts(s.model, s.data, "pyomo", style=style)
        assert parts.text == program(s, "pyomo", style=style)
        assert parts.imports == "import pyomo.environ as pyo"
        assert '"Alder"' in parts.data and '"Alder"' not in parts.model + parts.solve
        assert "pyo.Constraint" in parts.model and "optimal_value" in parts.solve
    assert parts.model.startswith("def build_model(data):") and "solve(model)" in parts.solve.splitlines()[-1]


@pytest.mark.parametrize(("name", "sample", "row", "lines"), [
    ("pulp", "flow", "no_detour", ["for i, j in arcs:", "    if (j, i) in arcs:"]),
    ("pulp", "flow", "balance", ["pulp.lpSum(sum_[i, j] for j in nodes if (i, j) in arcs)"]),
    ("highspy", "planning", "balance", ["if t > 1:", "stock[p, t - 1] + make[p, t] == lambda_[p, t] + stock[p, t]"]),
    ("highspy", "planning", "smooth", ["if t < periods[-1]:"]),
    ("ortools", "roster", "staffed", ["starts[days[(day_position[d] - 1) % len(days)]]"]),
    ("ortools", "roster", "even", ["if (d, s % len(slots) + 1) in openings:"]),
    ("pyomo", "shop", "route", ["model_[j, h] == model_[j, g] + 1"]),
    ("pyomo", "shop", "warm", ["for j, k in pairs for h in machines if h != machines[0] and", "previous_machine[h]"]),
    ("mathopt", "shop", "apart_one", ["if job_position[j] < job_position[k]:"]),
    ("pulp", "oddities", "exactly", ["if abs(a[t] + b[t, s] - 0.3) <= 1e-9:"]),
    ("pulp", "oddities", "unlike", ["and a[t] < 0.75:"]),
    ("pulp", "oddities", "unprior", ["if (next_stage.get(t), s) not in steps:"]),
    ("pulp", "oddities", "ends", ["if stage_position[t] + 1 < len(stages) - 1:", "x[stage_2_later[t]]"]),
    ("pulp", "oddities", "quota", ["for w, t, s in moves:", "if (t, s) in steps and w in experts:"]),
    ("pulp", "oddities", "near", ["pulp.lpSum(y[w] for w in experts) / len(workers) + 3"]),
])
def test_a_row_family(name: str, sample: str, row: str, lines: list[str]) -> None:
    s = SAMPLES[sample]
    text = row_code(s.model, row, name, s.data)
    assert text.startswith("# ") and all(line in text for line in lines), text
    body = "\n".join(text.splitlines()[1:])  # rows of one idiom share a comment in the program
    assert body in program(s, name)


def test_a_changed_row_can_be_quoted() -> None:
    s = SAMPLES["facility"]
    row = replace(s.model.row_by["demand_met"], relation="<=")
    text = row_code(s.model, row, "highspy")
    assert "model.qsum(ship[i, j] for i in depots) <= demand[j]" in text


def test_the_objective_and_a_variable_can_be_quoted() -> None:
    s = SAMPLES["planning"]
    assert objective_code(s.model, "mathopt", s.data).endswith("model.maximize(revenue - keeping + rent_total)")
    assert variable_code(s.model, "y", "pyomo").splitlines()[0] == "# units sold"
    assert "bounds=lambda model, p, t: (0, demand[p, t])" in variable_code(s.model, "y", "pyomo")


@pytest.mark.parametrize(("source", "style"), PAIRS)
@pytest.mark.parametrize("name", dialects())
def test_lines_are_short_and_names_hide_nothing(name: str, source: str, style: str) -> None:
    for s in SAMPLES.values():
        text = program(s, name, source, style)
        assert max(map(len, text.splitlines())) <= 120, s.name
        assert "\t" not in text and text.endswith("\n") and "\n\n\n\n" not in text, s.name
        nodes = list(ast.walk(ast.parse(text)))
        bound = {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        bound |= {x.arg for x in nodes if isinstance(x, ast.arg)}
        modules = {a.asname or a.name for x in nodes if isinstance(x, ast.Import | ast.ImportFrom) for a in x.names}
        assert not bound & {*dir(builtins), *keyword.kwlist, *modules}, s.name


def test_the_same_bytes_whatever_the_hash_seed() -> None:
    ask = ("import hashlib; from models_for_tests import SAMPLES; from orpipe.render.emit import emit\n"
           "print(hashlib.sha256(''.join(emit(s.model, s.data, d, source=c) for s in SAMPLES.values()"
           " for d in ('pyomo', 'pulp') for c in ('inline', 'csv')).encode()).hexdigest())")
    here = Path(__file__).resolve().parent
    path = os.pathsep.join(map(str, (here, here.parent, here.parent / "solvers")))
    found = {subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, cwd=here,
                            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}).stdout
             for seed in ("1", "2")}
    assert len(found) == 1 and len(found.pop().strip()) == 64


def test_names_of_pyomo_are_all_avoided() -> None:
    ask = "import pyomo.environ as pyo; print(*(n for n in dir(pyo.ConcreteModel()) if n[0] != '_'))"
    out = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout
    assert set(out.split()) <= Pyomo.attributes


# -- refusals
def test_unknown_names_are_refused_with_a_hint() -> None:
    s = SAMPLES["facility"]
    for ask, hint in (
        (lambda: emit(s.model, s.data, "pullp"), "no dialect 'pullp'; did you mean 'pulp'?"),
        (lambda: emit(s.model, s.data, "pulp", source="jason"), "no source 'jason'; did you mean 'json'?"),
        (lambda: emit(s.model, s.data, "pulp", style="functions"), "no style 'functions'; did you mean 'function'?"),
        (lambda: row_code(s.model, "demand", "pulp"), "no row 'demand'; did you mean 'demand_met'?"),
        (lambda: variable_code(s.model, "z", "pulp"), "no variable 'z'"),
        (lambda: schema(s.model, "xml"), "no kind of data file 'xml'"),  # type: ignore[arg-type]
    ):
        with pytest.raises(NotFound) as caught:
            ask()
        assert str(caught.value).startswith(hint)


def test_labels_that_libraries_would_merge_are_refused() -> None:
    s = SAMPLES["facility"]
    data = {**s.data, "I": ["A 1", "A-1"], "f": {"A 1": 1, "A-1": 2}, "q": {"A 1": 9, "A-1": 9},
            "c": {"A 1": s.data["c"]["North"], "A-1": s.data["c"]["South"]}}
    with pytest.raises(Unsupported, match="differ in punctuation only"):
        emit(s.model, data, "pulp")


def test_data_that_do_not_fit_are_refused() -> None:
    s = SAMPLES["facility"]
    with pytest.raises(DataError, match="South"):
        emit(s.model, {**s.data, "q": {"North": 16}}, "pulp")


def test_two_dialects_of_one_name_are_refused() -> None:
    with pytest.raises(OrpipeError, match="pulp"):
        @dialect("pulp")
        class Another(Dialect):
            pass


# -- attached files
def test_the_layout_of_data_json() -> None:
    s = SAMPLES["flow"]
    text = data_json(s.model, s.data)
    assert json.loads(text) == {
        "nodes": ["Old Town", "São-Luís", "C"],
        "arcs": [{"from": "Old Town", "to": "São-Luís", "cost": 1.25, "limit": 3},
                 {"from": "São-Luís", "to": "Old Town", "cost": 1, "limit": 3},
                 {"from": "São-Luís", "to": "C", "cost": 2, "limit": 4.75},
                 {"from": "Old Town", "to": "C", "cost": 4, "limit": 4}],
        "supply": {"Old Town": 5, "São-Luís": 1.5, "C": -6.5},
    }
    assert '    {"from": "São-Luís", "to": "C", "cost": 2, "limit": 4.75},\n' in text
    planning = json.loads(data_json(SAMPLES["planning"].model, SAMPLES["planning"].data))
    assert planning["periods"] == [1, 2, 3] and planning["rent"] == 7
    assert planning["value"]["A"] == {"1": 4, "2": 5.5, "3": 3}
    oddities = json.loads(data_json(SAMPLES["oddities"].model, SAMPLES["oddities"].data))
    assert "steps" not in oddities and oddities["effort"] == SAMPLES["oddities"].data["f"]
    assert oddities["moves"][0] == {"worker": "Ann", "stage_t": "t1", "stage_s": "t2", "quota": 4}


def test_the_layout_of_csv_files() -> None:
    assert data_csv(SAMPLES["facility"].model, SAMPLES["facility"].data) == {
        "depots.csv": "depot,opening_cost,capacity\nNorth,120,16\nSouth,90,10\n",
        "bakeries.csv": "bakery,demand\nAlder,5\nBirch,6\nCedar,4\n",
        "depots_bakeries.csv": "depot,bakery,carriage\nNorth,Alder,3\nNorth,Birch,7\nNorth,Cedar,5\n"
                               "South,Alder,6\nSouth,Birch,2\nSouth,Cedar,4\n",
    }
    planning = data_csv(SAMPLES["planning"].model, SAMPLES["planning"].data)
    assert planning["scalars.csv"] == "name,value\nstart,1\nrent,7\n"
    assert planning["products_periods.csv"].startswith("product,period,value,demand\nA,1,4,3\n")
    oddities = data_csv(SAMPLES["oddities"].model, SAMPLES["oddities"].data)
    assert oddities["steps.csv"].startswith("from,to,effort\nt1,t2,1\n")


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_the_description_covers_the_files_and_holds_no_value(sample: Sample) -> None:
    stored = json.loads(data_json(sample.model, sample.data))
    described = {d.key for d in schema(sample.model, "json")}
    assert {k.partition("[]")[0] for k in described} == stored.keys()
    for key, value in stored.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            assert {k for k in described if k.startswith(f"{key}[].")} == {f"{key}[].{part}" for part in value[0]}
    texts = data_csv(sample.model, sample.data)
    assert [t.file for t in tables(sample.model)] == list(texts)
    for file, text in texts.items():
        header = next(csv.reader(io.StringIO(text)))
        keys = [d.key for d in schema(sample.model, "csv") if d.file == file]
        assert keys == (header if file != "scalars.csv" else [row["name"] for row in csv.DictReader(io.StringIO(text))])
    both = {p.symbol for p in sample.model.params} | {s.symbol for s in sample.model.sets if not s.derived}
    for kind in ("json", "csv"):
        assert {d.symbol for d in schema(sample.model, kind)} >= both
        changed = {**sample.data, **{p.symbol: 987654 for p in sample.model.params if not p.indices}}
        assert schema_text(sample.model, sample.data, kind) == schema_text(sample.model, changed, kind)


def test_units_and_shapes_are_described() -> None:
    text = schema_text(SAMPLES["facility"].model, {}, "json")
    assert "- `carriage`: cost of carriage (EUR/t); object: for each depot an object with one number per bakery" in text
    text = schema_text(SAMPLES["flow"].model, {}, "csv")
    assert "`arcs.csv`, one row per arc, has the columns:\n\n- `from`: from which node\n- `to`: to which node\n" in text


def test_numbers_are_written_as_they_are() -> None:
    m = Builder("numbers")
    i = m.set("I", "item").index("i")
    c = m.param("c", i, name="cost", meaning="cost", unit="EUR")
    x = m.var("x", i, name="x", upper=1, meaning="amount")
    m.maximize(cost=(sum_(i)(c[i] * x[i]), "cost"))
    data = {"I": list("abcde"), "c": {"a": 0.1, "b": 3.0, "c": 12345678901234, "d": 1e-07, "e": 0.30000000000000004}}
    model = m.build(check=False)
    line = '{"a": 0.1, "b": 3.0, "c": 12345678901234, "d": 1e-07, "e": 0.30000000000000004}'
    assert f"cost = {line}\n" in emit(model, data, "pulp")
    assert f'"cost": {line}\n' in data_json(model, data)
