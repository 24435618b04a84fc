"""Checks of one row of the config `instances` (what it says of its optimum: audit_facts)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from orpipe import __version__
from orpipe.algebra.idioms import lower
from orpipe.algebra.nodes import Model
from orpipe.build.audit_facts import fact_checks
from orpipe.build.audit_records import Check, Known, Undecided, close
from orpipe.errors import NotFound
from orpipe.exact import fraction
from orpipe.families import families
from orpipe.ground import data_hash, ground, structure_hash
from orpipe.mps import read_mps, write_mps
from orpipe.problem import Problem
from orpipe_solvers import solve_mps_text


@lru_cache(maxsize=64)
def problem_of(known: Known) -> Problem:
    """The matrix that programs must build: the data grounded anew where that is the MPS (which scales rows with fractions)."""
    row = known.row
    read = read_mps(row["mps"])
    anew = regrounded(row, read)
    return anew if anew is not None and _same_matrix(anew, read) is None else read


@cache
def models_of(family: str) -> dict[str, Model]:
    """Linear models of a family's formulations by structure hash; empty for a family that there is not."""
    try:
        found = families[family]
    except NotFound:
        return {}
    symbolic = [found.symbolic(f) for f in found.formulations]
    return {structure_hash(m): lower(m) for m in symbolic}


def regrounded(row: Mapping[str, Any], read: Problem) -> Problem | None:
    """What the data ground to, under the names of the MPS.  None if no formulation has the structure hash, or the sizes differ."""
    model = models_of(row["family"]).get(row["structure_hash"])
    if model is None:
        return None
    anew = ground(model, json.loads(row["data"]))
    if (anew.n_vars, anew.n_rows) != (read.n_vars, read.n_rows):
        return None
    return replace(anew, columns=read.columns, rows=read.rows)


def _same_matrix(anew: Problem, read: Problem) -> str | None:
    return read_mps(write_mps(anew)).difference(read)


def instance_checks(row: Mapping[str, Any], proof_nodes: int = 0) -> Iterator[Check]:
    """Everything that one row of `instances` claims by itself; proof_nodes bounds each proof made again."""
    other = solve_mps_text(row["mps"])
    if not other.outcome.proof:
        yield Check("mps solved by a second reader and solver", Undecided(str(other)))
    else:
        same = str(other.outcome) == row["status"] and (row["objective"] is None or close(other.objective, row["objective"]))
        yield Check("mps solved by a second reader and solver", None if same else f"{other} against {row['status']} {row['objective']}")
    problem = read_mps(row["mps"])
    sizes = {"n_vars": problem.n_vars, "n_rows": problem.n_rows, "n_nonzeros": problem.n_nonzeros, "n_int": int(problem.integer.sum()),
             "n_bin": int(problem.binary.sum()), "kind": problem.kind, "sense": "max" if problem.maximize else "min"}
    wrong = [f"{name} is {row[name]}, the mps has {size}" for name, size in sizes.items() if row[name] != size]
    yield Check("sizes", "; ".join(wrong) or None)
    yield Check("data hash", None if data_hash(json.loads(row["data"])) == row["data_hash"] else "does not fit the data")
    anew = regrounded(row, problem)
    if row["generator_version"] == __version__:
        yield Check("data ground to the mps", "the data and the structure hash give another model" if anew is None else _same_matrix(anew, problem))
    stated = row["status"] == "optimal"
    whole = stated == (row["objective"] is not None) == (row["objective_exact"] is not None)
    exact = whole and (not stated or float(Fraction(row["objective_exact"])) == row["objective"])
    yield Check("objective exact", None if exact else f"{row['status']}: {row['objective']} against {row['objective_exact']}")
    x: Sequence[Fraction] | str | None = _solution(row, problem) if stated else None
    if stated:
        yield Check("solution exact", x if isinstance(x, str) else None)
    full = anew if anew is not None and _same_matrix(anew, problem) is None else problem
    for name, wrong_, unknown in fact_checks(row, full, None if isinstance(x, str) else x, proof_nodes):
        yield Check(name, Undecided(wrong_) if wrong_ and unknown else wrong_)


def _solution(row: Mapping[str, Any], problem: Problem) -> Sequence[Fraction] | str:
    """The exact point, or what is wrong with it."""
    names = {_plain(c): c for c in problem.columns}
    point = {}
    for name, entries in json.loads(row["solution"]).items():
        for labels, value in entries.items():
            key = _plain(f"{name}[{labels}]" if labels else name)
            if key not in names:
                return f"names unknown column '{key}'"
            point[names[key]] = fraction(value)
    x = problem.point(point)
    if broken := problem.violations(x):
        return f"breaks {broken[0].where} by {broken[0].amount}"
    value = problem.objective(x)
    return x if value == Fraction(row["objective_exact"]) else f"has objective {value}, the label says {row['objective_exact']}"


def _plain(name: str) -> str:
    return re.sub(r"\s", "_", name)
