"""Irreducible infeasible subsets: rows and bounds that exclude each other, none of which can be left out.

Integrality is kept throughout and is not listed.  That the set is infeasible is a label (two solver families, exact arithmetic for
LPs); that each member is needed is an exact point which satisfies all the others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from orpipe.exact import Exact
from orpipe.problem import Problem
from orpipe.solve import Label, Outcome, confirm, label, settle, solver

NODES = 20_000
LARGEST = 12  # rows of a conflict that a text can still explain
_WORDS = ("lower bound of ", "upper bound of ")


@dataclass(frozen=True)
class Subset:
    """Positions: of rows, and of columns whose lower or upper bound belongs to the set."""

    rows: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]

    def names(self, problem: Problem) -> list[str]:
        """«demand[C1]», «lower bound of ship[North,C1]»: rows, then lower bounds, then upper bounds."""
        bounds = [word + problem.columns[j] for word, side in zip(_WORDS, (self.lower, self.upper), strict=True) for j in side]
        return [problem.rows[i] for i in self.rows] + bounds

    def __len__(self) -> int:
        return len(self.rows) + len(self.lower) + len(self.upper)

    def without(self, k: int, step: int = 1) -> Subset:
        """Members counted through rows, lower and upper bounds, some left out."""
        kept = [m for n, m in enumerate(self._members) if not k <= n < k + step]
        return Subset(*(tuple(v for kind, v in kept if kind == part) for part in range(3)))

    @cached_property
    def _members(self) -> list[tuple[int, int]]:
        return [(part, v) for part, values in enumerate((self.rows, self.lower, self.upper)) for v in values]

    def problem(self, problem: Problem) -> Problem:
        """Only these rows and bounds, without objective."""
        found = subset(problem, list(self.rows))
        low, high = np.full(problem.n_vars, -np.inf), np.full(problem.n_vars, np.inf)
        low[list(self.lower)], high[list(self.upper)] = problem.lower[list(self.lower)], problem.upper[list(self.upper)]
        return replace(found, lower=low, upper=high, cost_exact=Exact(np.zeros(problem.n_vars, np.int64)), offset=0 * problem.offset)


def named(problem: Problem, names: Sequence[str]) -> Subset:
    """From `Subset.names`; KeyError for a name that the problem lacks."""
    rows = {name: i for i, name in enumerate(problem.rows)}
    parts: list[list[int]] = [[], [], []]
    for name in names:
        part = next((k for k, word in enumerate(_WORDS, start=1) if name.startswith(word) and name not in rows), 0)
        parts[part].append(problem.column_index[name.removeprefix(_WORDS[part - 1])] if part else rows[name])
    return Subset(*(tuple(p) for p in parts))


def subset(problem: Problem, rows: list[int]) -> Problem:
    """The problem with only these rows."""
    A = problem.matrix
    counts = np.diff(A.indptr)
    take = np.concatenate([np.arange(A.indptr[i], A.indptr[i + 1]) for i in rows]) if rows else np.zeros(0, np.int64)
    indptr = np.concatenate([[0], np.cumsum(counts[rows])]) if rows else np.zeros(1, np.int64)
    matrix = sp.csr_array((A.data[take], A.indices[take], indptr.astype(np.int32)), shape=(len(rows), problem.n_vars))
    index = np.array(rows, dtype=np.int64)
    return replace(
        problem, rows=tuple(problem.rows[i] for i in rows), matrix=matrix, matrix_exact=problem.matrix_exact[take],
        row_lower=problem.row_lower[index], row_upper=problem.row_upper[index],
        row_lower_exact=problem.row_lower_exact[index], row_upper_exact=problem.row_upper_exact[index],
    )


def whole(problem: Problem) -> Subset:
    lower, upper = (tuple(np.flatnonzero(np.isfinite(side)).tolist()) for side in (problem.lower, problem.upper))
    return Subset(tuple(range(problem.n_rows)), lower, upper)


def irreducible(problem: Problem) -> Subset | None:
    """Rows are left out first, then bounds.  None if a limit got in the way, the problem is feasible, more than LARGEST rows
    are needed, or a proof is missing."""
    found = _reduced(problem, whole(problem), 0, problem.n_rows)
    if found is None or len(found.rows) > LARGEST:
        return None
    used = set(subset(problem, list(found.rows)).matrix.indices.tolist())
    plain = Subset(found.rows, tuple(j for j in found.lower if j in used), tuple(j for j in found.upper if j in used))
    found = _reduced(problem, plain if _infeasible(problem, plain) else found, len(found.rows), None)
    return found if found is not None and fault(problem, found) is None else None


def _reduced(problem: Problem, found: Subset, first: int, last: int | None) -> Subset | None:
    """Members first..last left out one after the other, in blocks at first, as long as the rest stays infeasible."""
    fixed = 0 if last is None else len(found) - last
    step = max(1, (len(found) - fixed - first) // 4)
    while step:
        k = first
        while k < len(found) - fixed:
            rest = found.without(k, min(step, len(found) - fixed - k))
            infeasible = _infeasible(problem, rest)
            if infeasible is None:
                return None
            if infeasible:
                found = rest
            else:
                k += step
        step //= 2
    return found


def _infeasible(problem: Problem, found: Subset) -> bool | None:
    """What HiGHS says, None where it does not know."""
    outcome = settle(solver("highs"), found.problem(problem), nodes=NODES).outcome
    return outcome is Outcome.INFEASIBLE if outcome in (Outcome.INFEASIBLE, Outcome.OPTIMAL) else None


def fault(problem: Problem, found: Subset) -> str | None:
    """None if the set is proved infeasible and each member proved to be needed, else what is missing."""
    proved = label(found.problem(problem), nodes=NODES)
    if not isinstance(proved, Label) or proved.status != "infeasible":
        return f"the set is not proved infeasible ({proved.status if isinstance(proved, Label) else proved.detail})"
    names = found.names(problem)
    for k, name in enumerate(names):
        rest = found.without(k).problem(problem)
        claim = settle(solver("highs"), rest, nodes=NODES)
        point = confirm(rest, (claim, claim), (claim,)) if claim.outcome is Outcome.OPTIMAL else None
        if not isinstance(point, Label) or point.point is None or rest.violations(point.point):
            return f"no exact point shows that '{name}' is needed"
    return None


def iis(problem: Problem) -> str | None:
    """The column `iis` of an infeasible instance: a JSON list of names, or None where none was proved."""
    found = irreducible(problem)
    return None if found is None else json.dumps(found.names(problem), ensure_ascii=False)
