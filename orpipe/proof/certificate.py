"""A proof as plain data, and its JSON form.  What it claims is told here, what makes it true in orpipe.proof.checker.

The objective is always minimised here: for a maximised problem read the costs with the other sign.  Rows and columns are
numbers from 0, rationals are text ("3", "-7/2").  A proof by cases is a tree, listed parent before children:

    ["branch", column, threshold, first]   column <= threshold (first = 0) or >= threshold + 1 (first = 1) comes next, then
                                           the other
    ["bound", den, [[row, num], ...]]      row multipliers num / den whose dual bound reaches the claimed objective
    ["farkas", den, [[row, num], ...]]     row multipliers that exclude the box of this node
    ["empty", column]                      the column's own bounds leave nothing (nothing whole, if it is integer)
    ["crossed", row]                       the row's own sides exclude each other

A positive multiplier stands on a row's lower side, a negative one on its upper side.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

FORMAT = 1
Kind = Literal["exact", "exact-point+agreement", "agreement"]


@dataclass(frozen=True)
class Certificate:
    """outcome: optimal (point is best, objective its value with the offset), infeasible, or unbounded (point is feasible,
    ray improves for ever).  digest: of the problem it is about.

    Optional aids of a proof, in the order in which they are replayed: step, of which every node's least objective is a
    multiple (lattice.py); symmetry, [blocks, rows] of columns that may be fixed at zero (symmetry.py); bounds,
    [column, "lower" | "upper", value, row], each implied by that one row and the bounds before it; derived, steps in turn
    (Replay.derive, splits.py): rows numbered on from the problem's own ("cut", "cutoff", "split", "order") or the box tightened
    ("bounds", "probe").  tree: as above; null for unbounded.
    """

    digest: str
    outcome: Literal["optimal", "infeasible", "unbounded"]
    objective: str | None = None
    point: list[str] | None = None
    ray: list[str] | None = None
    step: str | None = None
    symmetry: list[list[Any]] | None = None
    bounds: list[list[Any]] | None = None
    derived: list[list[Any]] | None = None
    tree: list[list[Any]] | None = None
    format: int = FORMAT

    @property
    def nodes(self) -> int:
        return len(self.tree or ())

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Raises ValueError for text that is not a certificate; its content is for the checker to judge."""
        content = json.loads(text)
        if not isinstance(content, dict) or not content.keys() <= {f.name for f in fields(cls)}:
            raise ValueError("not a certificate: expected a JSON object with the fields of orpipe.proof.Certificate")
        try:
            return cls(**content)
        except TypeError as error:
            raise ValueError(f"not a certificate: {error}") from None
