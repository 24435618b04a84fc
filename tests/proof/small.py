"""Small random problems whose whole truth is found by listing every integer point."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from orpipe.problem import Problem
from orpipe.solve import Label
from orpipe.testing.solver_suite import model

KINDS = ("plain", "decimal", "equality", "signed", "tight")


def integer_problem(seed: int) -> Problem:
    """2 to 6 bounded integer columns; every fifth seed has decimal data, equalities, negative numbers or few points."""
    rng = np.random.default_rng([seed, 17])
    kind = KINDS[seed % len(KINDS)]
    n, m = int(rng.integers(2, 7)), int(rng.integers(1, 5))
    low = -3 if kind == "signed" else 0
    bounds = [(int(a), int(a + b)) for a, b in zip(rng.integers(low, 2, n), rng.integers(1, 4, n), strict=True)]
    scale = 4 if kind == "decimal" else 1
    inside = [int(rng.integers(a, b + 1)) for a, b in bounds]
    rows = []
    for _ in range(m):
        row = {j: Fraction(int(rng.integers(-4 if kind in ("signed", "equality") else 1, 10)), scale) for j in range(n) if rng.random() < 0.8}
        at = sum((v * inside[j] for j, v in row.items()), start=Fraction(0))
        slack = int(rng.integers(-1 if kind == "tight" else 0, 4))
        rows.append((at, row, at) if kind == "equality" and rng.random() < 0.5 else (None, row, at + slack) if rng.random() < 0.7
                    else (at - slack, row, None))
    cost = [Fraction(int(v), scale) for v in rng.integers(-6, 10, n)]
    return model(cost, rows, bounds, integer="all", maximize=bool(rng.integers(2)), offset=int(rng.integers(0, 3)), name=f"small{seed}")


def points(problem: Problem) -> list[tuple[Fraction, ...]]:
    """Every feasible point of a bounded integer problem."""
    axes = [range(int(a), int(b) + 1) for a, b in zip(problem.lower, problem.upper, strict=True)]
    grid = (tuple(Fraction(v) for v in point) for point in itertools.product(*axes))
    return [point for point in grid if not problem.violations(point)]


def ranked(problem: Problem) -> list[tuple[Fraction, tuple[Fraction, ...]]]:
    """(objective, point), best first."""
    found = [(problem.objective(point), point) for point in points(problem)]
    return sorted(found, key=lambda t: -t[0] if problem.maximize else t[0])


def optimal(problem: Problem, point: tuple[Fraction, ...]) -> Label:
    """A label that claims this point, right or wrong."""
    value = problem.objective(point)
    return Label("optimal", float(value), value, point, "agreement", ())


INFEASIBLE = Label("infeasible", None, None, None, "agreement", ())
