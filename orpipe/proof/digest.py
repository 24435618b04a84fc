"""Part of the checker: the name of a problem.  Imports nothing of orpipe."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orpipe.problem import Problem


def digest(problem: Problem) -> str:
    """sha256 of everything that makes the problem: names, numbers in lowest terms, sides, integrality, sense."""
    p = problem
    content: list[Any] = [bool(p.maximize), str(p.offset), list(p.columns), list(p.rows), [int(v) for v in p.integer],
                          p.matrix.indptr.tolist(), p.matrix.indices.tolist()]
    sides = ((p.row_lower, p.row_lower_exact), (p.row_upper, p.row_upper_exact), (p.lower, p.lower_exact), (p.upper, p.upper_exact))
    for floats, exact in ((None, p.cost_exact), (None, p.matrix_exact), *sides):
        finite = [True] * len(exact.num) if floats is None else [math.isfinite(v) for v in floats.tolist()]
        nums = [int(v) if k else 0 for v, k in zip(exact.num, finite, strict=True)]
        common = math.gcd(exact.den, *nums)
        content.append([exact.den // common, [v // common if k else None for v, k in zip(nums, finite, strict=True)]])
        if floats is not None:
            content.append([math.copysign(1, v) if not k else 0 for v, k in zip(floats.tolist(), finite, strict=True)])
    return hashlib.sha256(json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()
