"""Bin packing."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.build import Builder, sum_
from orpipe.families import Family, Golden, Names, Size, family
from orpipe.families.draw import Rng, by_label, numbers, split


@family("bin_packing", cls="packing", kind="BIP", tags=("packing", "fixed-charge", "symmetry"))
class BinPacking(Family):
    """Put every item into one of identical bins so that as few bins as possible are used.

    Source: Martello and Toth, Knapsack Problems: Algorithms and Computer Implementations, Wiley, 1990, ch. 8.
    """

    levels = (
        {"full": 2, "most": 2, "waste": 0.15},
        {"full": 3, "most": 3, "waste": 0.1},
        {"full": 4, "most": 3, "waste": 0.06},
        {"full": 5, "most": 3, "waste": 0.03},
    )
    golden = Golden(
        data={
            "I": ["P1", "P2", "P3", "P4", "P5"], "B": ["Van 1", "Van 2", "Van 3", "Van 4"], "W": 100,
            "w": {"P1": 35, "P2": 38, "P3": 36, "P4": 41, "P5": 44},
        },
        optimum=3,
        why="Together they take 194, less than two bins hold, but the three lightest take 109, so no bin holds "
            "three and five items need three bins: P1 and P2 (73), P3 and P4 (77), P5 (44).",
    )
    ties = "the bins are identical: renumbering them, or moving an item to where there is room, is optimal too"

    def model(self, m: Builder, formulation: str) -> None:
        I, B = m.set("I", "item"), m.set("B", "bin")
        i, b = I.index("i"), B.index("b")
        w = m.param("w", i, name="size", unit="resource", meaning="{size} of the {I}")
        W = m.param("W", name="capacity", unit="resource", meaning="{size} that one {B} can hold")
        y = m.var("y", b, kind="binary", name="used", meaning="1 if {B} b is used, 0 otherwise")
        x = m.var("x", i, b, kind="binary", name="put", meaning="1 if {I} i is {put} {B} b, 0 otherwise")
        m.minimize(bins=(sum_(b)(y[b]), "number of {B_s} used"))
        m.require("once", sum_(b)(x[i, b]) == 1, forall=(i,), because="each {I} is {put} exactly one {B}")
        m.fixed_charge("capacity", sum_(i)(w[i] * x[i, b]), y[b], W, forall=(b,), tightened_by="W",
                       because="a {B} that is used holds at most its capacity, and one that is not used holds nothing")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        W, full = int(rng.integers(150, 601)), size["full"]
        w: list[int] = []
        if rng.integers(2):  # `full` bins filled nearly to the brim and then mixed up: that many are enough
            for _ in range(full):
                content = W - int(rng.integers(0, round(W * size["waste"]) + 1))
                w += split(rng, content, int(rng.integers(2, size["most"] + 1)), least=W // 8)
            w = [w[n] for n in rng.permutation(len(w))]
        else:  # bulky items, of which a bin rarely holds three: total size alone tells too few bins
            w = [round(W * share) for share in numbers(rng, 0.31, 0.5, 2 * full + 1, 3)]
        I, B = names("I", len(w)), names("B", max(full, _first_fit(w, W)) + 1)
        return {"I": I, "B": B, "W": W, "w": by_label(I, w)}


def _first_fit(sizes: list[int], capacity: int) -> int:
    """Bins that first fit in order of decreasing size takes: enough for a feasible instance."""
    room: list[int] = []
    for need in sorted(sizes, reverse=True):
        at = next((n for n, free in enumerate(room) if free >= need), len(room))
        room[at:at + 1] = [(room[at] if at < len(room) else capacity) - need]
    return len(room)
