"""The checker: imports nothing that made the proof, refuses whatever is changed, and its cuts and lattice are true."""

from __future__ import annotations

import ast
import copy
import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orpipe.proof.checker as checker_module
from orpipe.exact import Exact
from orpipe.instances import draw
from orpipe.problem import Problem
from orpipe.proof import Certificate, certify, check
from orpipe.proof.cuts import strengthened
from orpipe.proof.digest import digest
from orpipe.proof.form import Form
from orpipe.proof.lattice import objective_step
from orpipe.proof.replay import Replay
from orpipe.solve import Label, label
from orpipe.testing.solver_suite import model

from .small import integer_problem, points, ranked

STANDARD = {"__future__", "collections", "dataclasses", "fractions", "hashlib", "itertools", "json", "math", "orpipe", "typing"}
SOURCES = ("checker", "certificate", "digest", "lattice", "reading", "replay", "splits", "symmetry")


@pytest.mark.parametrize("name", SOURCES)
def test_the_checker_imports_only_itself_and_the_standard_library(name: str) -> None:
    tree = ast.parse((Path(checker_module.__file__).parent / f"{name}.py").read_text("utf-8"))
    guarded = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.If) for inner in ast.walk(node)}
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and id(node) not in guarded}
    modules |= {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    ours = {f"orpipe.proof.{s}" for s in SOURCES}
    assert {m for m in modules if m.startswith("orpipe")} <= ours
    assert {m.split(".")[0] for m in modules} <= STANDARD


@cache
def proved(name: str, level: int, index: int) -> tuple[Problem, Certificate]:
    problem = draw(name, level, 9, index).problem
    found = label(problem)
    assert isinstance(found, Label)
    certificate = certify(problem, found, math.inf)
    assert certificate is not None
    return problem, certificate


@cache
def infeasible() -> tuple[Problem, Certificate]:
    problem = model([1, 1, 1], [(1, {0: 2, 1: 2, 2: 2}, 5), (3, {0: 2, 1: 4, 2: 6}, 3)], [(0, 3)] * 3, integer="all")
    certificate = certify(problem, Label("infeasible", None, None, None, "agreement", ()), math.inf)
    assert certificate is not None
    return problem, certificate


@cache
def unbounded() -> tuple[Problem, Certificate]:
    problem = model([-1, 0], [(0, {0: -1, 1: 2}, None)], integer=[True, False])
    certificate = certify(problem, Label("unbounded", None, None, (Fraction(2), Fraction(1)), "exact", (), ray=(Fraction(1), Fraction(1, 2))))
    assert certificate is not None
    return problem, certificate


SAMPLES: dict[str, Callable[[], tuple[Problem, Certificate]]] = {
    "lp": lambda: proved("transportation", 1, 0), "knapsack": lambda: proved("knapsack", 1, 1),
    "bins": lambda: proved("bin_packing", 1, 0), "lots": lambda: proved("lot_sizing_capacitated", 1, 0),
    "shop": lambda: proved("job_shop", 1, 0), "infeasible": infeasible, "unbounded": unbounded,
}


def test_the_samples_use_every_part_of_a_certificate() -> None:
    used = {key for make in SAMPLES.values() for key, value in json.loads(make()[1].to_json()).items() if value}
    assert used == set(json.loads(infeasible()[1].to_json()))
    kinds = {node[0] for make in SAMPLES.values() for node in make()[1].tree or ()}
    assert kinds >= {"branch", "bound", "farkas"}


@pytest.mark.parametrize("sample", SAMPLES)
def test_each_field_lost_or_of_another_type_is_a_fault(sample: str) -> None:
    problem, certificate = SAMPLES[sample]()
    assert check(problem, certificate) == []
    content = json.loads(certificate.to_json())
    for key, value in content.items():
        aids = key in ("step", "symmetry", "bounds", "derived")
        wrong: Any
        for wrong in (None, [], "1", 7, {"a": 1}, [[]], [["x"]], [["cut", 1]], True):
            if wrong == value or (aids and value in (None, []) and wrong in (None, []) and certificate.outcome != "unbounded"):
                continue
            faults = check(problem, replace(certificate, **{key: wrong}))
            # an aid that is not there may not have been needed
            assert faults or (aids and wrong in (None, [])), (key, wrong)


def leaves(value: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    if isinstance(value, (list, dict)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, (*path, key))
    elif value is not None:
        yield path, value


def put(content: Any, path: tuple, value: Any) -> Any:
    out = copy.deepcopy(content)
    at = out
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return out


CLAIM = ("digest", "outcome", "objective", "point", "ray", "format")


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_single_value_changed(sample: str) -> None:
    """A changed claim is refused; a changed proof is refused or is another proof of the same, true, claim."""
    problem, certificate = SAMPLES[sample]()
    content = json.loads(certificate.to_json())
    refused = total = 0
    wrong: Any
    found = list(leaves(content))
    for path, value in found if len(found) < 400 else found[:: len(found) // 400 + 1]:
        for wrong in (value + 1, -value - 3, value * 1000 + 1) if type(value) is int else (f"{value}1", f"-{value}", "x"):
            faults = check(problem, Certificate(**put(content, path, wrong)))
            total += 1
            refused += bool(faults)
            if not faults and path[0] == "point":  # another point of the same objective
                moved = [Fraction(v) for v in put(content, path, wrong)["point"]]
                assert not problem.violations(moved)
                assert certificate.objective is None or problem.objective(moved) == Fraction(certificate.objective)
            elif not faults and path[0] == "ray":
                assert certificate.outcome == "unbounded" and Fraction(wrong) != 0
            else:
                assert faults or path[0] not in CLAIM, (path, value, wrong)
    assert refused > total / 4 and total > 20


@pytest.mark.parametrize("sample", ["knapsack", "bins", "lots", "shop", "infeasible"])
def test_a_tree_without_one_of_its_nodes_or_with_one_more(sample: str) -> None:
    problem, certificate = SAMPLES[sample]()
    tree = certificate.tree or []
    for k in range(0, len(tree), max(1, len(tree) // 30)):
        assert check(problem, replace(certificate, tree=tree[:k] + tree[k + 1:])), k
        assert check(problem, replace(certificate, tree=[*tree[:k], tree[k], *tree[k:]])), k


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_no_change_of_a_proof_proves_a_worse_optimum(seed: int) -> None:
    """The certificate of the best point, its claim exchanged for the next best one, and then every value changed."""
    problem = integer_problem(seed)
    best = ranked(problem)
    worse = next((t for t in best if t[0] != best[0][0]), None) if best else None
    if worse is None:
        return
    value, point = best[0]
    certificate = certify(problem, Label("optimal", float(value), value, point, "agreement", ()), math.inf)
    assert certificate is not None
    content = json.loads(replace(certificate, objective=str(worse[0]), point=[str(v) for v in worse[1]]).to_json())
    assert check(problem, Certificate(**content))
    for path, old in leaves(content):
        if path[0] not in CLAIM and not isinstance(old, bool):
            for new in (old + 1, old - 1, -old, old * 10) if isinstance(old, int) else (f"{old}0", f"-{old}"):
                assert check(problem, Certificate(**put(content, path, new))), (path, old, new)


def test_a_certificate_of_another_problem_is_refused() -> None:
    problem, certificate = proved("knapsack", 1, 1)
    assert "another problem" in check(infeasible()[0], certificate)[0]
    roomier = replace(problem, row_upper=problem.row_upper + 5, row_upper_exact=problem.row_upper_exact + Exact(np.full(problem.n_rows, 5)))
    cheaper = replace(problem, cost_exact=problem.cost_exact + Exact(np.ones(problem.n_vars, np.int64)))
    renamed = replace(problem, columns=tuple(f"{c}_" for c in problem.columns))
    for other in (roomier, cheaper, renamed, replace(problem, maximize=not problem.maximize), replace(problem, offset=Fraction(1))):
        assert check(other, certificate)
    for other in (cheaper, replace(problem, maximize=not problem.maximize), replace(problem, offset=Fraction(1))):
        assert check(other, replace(certificate, digest=digest(other)))
    same = replace(problem, cost_exact=Exact(problem.cost_exact.num * 10, problem.cost_exact.den * 10))
    assert check(same, certificate) == []


def test_a_fractional_bound_of_an_integer_column_is_refused() -> None:
    """x <= 2 follows from 2 x <= 5, and so does x <= 5/2; but a cut would measure whole steps from it."""
    problem = model([-1], [(None, {0: 2}, 5)], integer="all")
    proof = certify(problem, Label("optimal", -2.0, Fraction(-2), (Fraction(2),), "agreement", ()))
    assert proof is not None and check(problem, replace(proof, bounds=[[0, "upper", "2", 0]])) == []
    assert "whole" in check(problem, replace(proof, bounds=[[0, "upper", "5/2", 0]]))[0]


def test_blocks_that_are_not_alike_or_not_single_are_refused() -> None:
    problem, certificate = proved("bin_packing", 1, 0)
    assert certificate.symmetry is not None
    blocks, rows = certificate.symmetry
    mixed = [[blocks[0][1], blocks[0][0], *blocks[0][2:]], *blocks[1:]]
    for wrong in ([mixed, rows], [blocks, rows[::-1]], [[blocks[0], blocks[0]], rows], [blocks, [*rows, 0]], [blocks[:1], [0]]):
        assert check(problem, replace(certificate, symmetry=wrong)), wrong
    weighed = replace(problem, cost_exact=problem.cost_exact + Exact(np.eye(1, problem.n_vars, blocks[0][-1], dtype=np.int64)[0]))
    assert check(weighed, replace(certificate, digest=digest(weighed)))


@pytest.mark.parametrize("seed", range(60))
def test_cuts_and_derived_bounds_hold_at_every_point(seed: int) -> None:
    problem = integer_problem(seed)
    form = Form(problem, arrange=False)
    strengthened(form, lambda objective: False)
    replay = form.replay
    for point in points(problem):
        for j, x in enumerate(point):
            low, high = replay.lower[j], replay.upper[j]
            assert (low is None or low <= x * replay.box_den) and (high is None or x * replay.box_den <= high)
        for i in range(problem.n_rows, len(replay.rows)):
            activity = sum((a * point[j] for j, a in replay.rows[i]), start=Fraction(0)) / replay.den
            assert activity * replay.side_den >= replay.low[i]  # type: ignore[operator]


def test_cuts_are_found() -> None:
    assert sum(bool(_cuts(integer_problem(s))) for s in range(40)) > 5


def _cuts(problem: Problem) -> list:
    form = Form(problem)
    strengthened(form, lambda objective: False)
    return form.derived


@pytest.mark.parametrize("seed", range(25))
def test_cuts_with_continuous_columns_hold(seed: int) -> None:
    """Mixed rows a x + z >= b, z continuous: at every whole x the least feasible z (and a little more) fulfils the cuts."""
    rng = np.random.default_rng([seed, 5])
    n, m = 3, 2
    a = rng.integers(-5, 9, (m, n))
    b = rng.integers(1, 15, m)
    rows: Any = [(int(b[i]), {**{j: int(a[i, j]) for j in range(n)}, n: int(rng.integers(1, 4)), n + 1: -1}, None) for i in range(m)]
    problem = model([*(int(v) for v in rng.integers(1, 6, n)), 3, 1], rows, [(0, 3)] * n + [(0, None), (0, 2)], integer=[True] * n + [False] * 2)
    form = Form(problem)
    strengthened(form, lambda objective: False)
    replay, entries = form.replay, problem.matrix.toarray()
    for whole in itertools.product(range(4), repeat=n):
        for slack in (Fraction(0), Fraction(1, 3), Fraction(2)):
            need = [(Fraction(int(b[i])) + slack - sum(int(a[i, j]) * whole[j] for j in range(n))) / int(entries[i, n]) for i in range(m)]
            z = max(Fraction(0), *need)
            point = [*map(Fraction, whole), z, slack]
            assert not problem.violations(point)
            for i in range(m, len(replay.rows)):
                assert sum((v * point[j] for j, v in replay.rows[i]), start=Fraction(0)) * replay.side_den >= replay.low[i] * replay.den  # type: ignore[operator]


@pytest.mark.parametrize(("cost", "rows", "step"), [
    ([4, 6], [(None, {0: 1, 1: 1}, 3)], 2),
    ([Fraction(1, 4), Fraction(3, 2)], [(None, {0: 1, 1: 1}, 3)], Fraction(1, 4)),
])
def test_step_of_whole_columns(cost: list, rows: list, step: Fraction) -> None:
    assert objective_step(Replay(model(cost, rows, integer="all"))) == step


def test_step_with_continuous_columns() -> None:
    flow: Any = [(1, {0: 1, 1: -1, 3: 2}, 1), (None, {0: -1, 2: 1}, Fraction(1, 2)), (None, {1: 2}, 3)]
    whole = [False, False, False, True]
    assert objective_step(Replay(model([6, 3, 9, 5], flow, integer=whole))) == Fraction(1, 2)  # x halves, times 3; 5
    assert objective_step(Replay(model([6, 3, 9, 3], flow, integer=whole))) == Fraction(3, 2)
    triangle: Any = [(1, {0: 1, 1: 1}, None), (1, {1: 1, 2: 1}, None), (1, {0: 1, 2: 1}, None)]
    assert objective_step(Replay(model([1, 1, 1], triangle))) is None  # the optimum is 3/2
    assert objective_step(Replay(model([1, 1], [(1, {0: 1, 1: 2}, None)]))) is None
    assert objective_step(Replay(model([0, 0], [(1, {0: 1, 1: 1}, None)]))) is None
