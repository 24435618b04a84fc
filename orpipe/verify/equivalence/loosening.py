"""Row sides that auxiliary columns meet for free: without them the same values of the other columns can be completed.

An upper estimate (a swing at least as large as a deviation) that nothing keeps from growing turns `mean of swings = limit` into
`mean of swings <= limit`: a point below the limit is raised to it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orpipe.problem import Problem


def loosened(problem: Problem, auxiliary: np.ndarray) -> Problem:
    """`problem` without the row sides that one of `auxiliary` (n,), moved alone, always meets; itself if there are none.

    Such a column is an amount without cost, endless in a direction that no row stops (all sides that it helps go), or only the row
    whose other side goes: moved until that side is met, it breaks nothing."""
    matrix = problem.matrix.tocsc()
    low, high = problem.row_lower.copy(), problem.row_upper.copy()
    able = np.flatnonzero(auxiliary & ~problem.integer & (problem.cost_exact.num == 0)).tolist()
    again, changed = True, False
    while again:
        again = False
        for j in able:
            span = slice(matrix.indptr[j], matrix.indptr[j + 1])
            rows, entries = matrix.indices[span], matrix.data[span]
            rows, entries = rows[entries != 0], entries[entries != 0]
            for direction, end in ((1.0, problem.upper[j]), (-1.0, problem.lower[j])):
                if np.isfinite(end):
                    continue
                rises = entries * direction > 0
                stops = rows[np.where(rises, np.isfinite(high[rows]), np.isfinite(low[rows]))]
                if len(stops) > 1:
                    continue
                for i, up in zip(rows.tolist(), rises.tolist(), strict=True):
                    side = low if up else high
                    if np.isfinite(side[i]) and low[i] <= high[i] and (not len(stops) or stops[0] == i):
                        side[i] = -np.inf if up else np.inf
                        again = changed = True
    return replace(problem, row_lower=low, row_upper=high) if changed else problem
