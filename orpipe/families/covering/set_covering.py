"""Set covering."""

from __future__ import annotations

from typing import Any

from orpipe.algebra.build import Builder, sum_
from orpipe.families import Family, Golden, Names, Rejected, Size, family
from orpipe.families.draw import Rng, by_label, distance, number, plane

Pair = tuple[int, int]


@family("set_covering", cls="covering", kind="BIP", tags=("covering", "sparse"))
class SetCovering(Family):
    """Choose options of least total cost so that every element is covered by a chosen option at least once.

    Source: Toregas, Swain, ReVelle and Bergman, "The location of emergency service facilities", Operations Research 19,
    1971, with the costs of Balas and Ho, "Set covering algorithms using cutting planes, heuristics, and subgradient
    optimization", Mathematical Programming Study 12, 1980.
    """

    # radius: an option covers the elements within this distance on a 100 x 100 map
    levels = (
        {"options": 5, "elements": 6, "radius": 45},
        {"options": 10, "elements": 14, "radius": 36},
        {"options": 24, "elements": 26, "radius": 27},
        {"options": 60, "elements": 40, "radius": 21},
    )
    golden = Golden(
        data={
            "I": ["Mill Lane", "Station Road", "Castle Street", "Park Avenue", "Bridge Street"],
            "J": ["Abbey", "Beacon", "Croft", "Dene", "Elms"],
            "A": [["Mill Lane", "Abbey"], ["Mill Lane", "Beacon"], ["Mill Lane", "Croft"],
                  ["Station Road", "Abbey"], ["Station Road", "Dene"],
                  ["Castle Street", "Beacon"], ["Castle Street", "Dene"], ["Castle Street", "Elms"],
                  ["Park Avenue", "Croft"], ["Park Avenue", "Elms"], ["Bridge Street", "Beacon"]],
            "f": {"Mill Lane": 250, "Station Road": 140, "Castle Street": 230, "Park Avenue": 150, "Bridge Street": 90},
        },
        optimum=380,
        why="Abbey needs Mill Lane or Station Road. With Mill Lane (250), Dene and Elms remain: Castle Street "
            "covers both for 230, Station Road with Park Avenue costs 290; so 480 at least. Without it, Station "
            "Road (140) is needed for Abbey and Park Avenue (150) for Croft; they also cover Dene and Elms, and "
            "Beacon costs 90 by Bridge Street or 230 by Castle Street: 140 + 150 + 90 = 380.",
    )

    def model(self, m: Builder, formulation: str) -> None:
        I, J = m.set("I", "option"), m.set("J", "element")
        i, j = I.index("i"), J.index("j")
        A = m.tuples("A", i, j, noun="covering pair")
        f = m.param("f", i, name="cost", unit="money", meaning="cost of {choosing} the {I}")
        y = m.var("y", i, name="choose", kind="binary", meaning="1 if {I} i is {chosen}, 0 otherwise")
        m.minimize(choice=(sum_(i)(f[i] * y[i]), "cost of the {I_s} that are {chosen}"))
        m.require("cover", sum_(i, where=A[i, j])(y[i]) >= 1, forall=(j,), tightened_by="A",
                  because="every {J} is {reached} at least one {I} that is {chosen}")

    def sample(self, rng: Rng, size: Size, names: Names) -> dict[str, Any]:
        I, J = names("I", size["options"]), names("J", size["elements"])
        for _ in range(40):
            pairs = _coverage(rng, len(I), len(J), size["radius"])
            reach = [sum(p[0] == i for p in pairs) for i in range(len(I))]
            if max(reach) < len(J):
                break
        else:
            raise Rejected("one option covers everything in every draw")
        f = [number(rng, 90, 190) + sum(number(rng, 25, 60) for _ in range(k)) for k in reach]
        return {"I": I, "J": J, "A": [[I[i], J[j]] for i, j in pairs], "f": by_label(I, f)}


def _coverage(rng: Rng, options: int, elements: int, radius: int) -> list[Pair]:
    """Pairs within the radius; and the nearest others, so that each element has two options, and the reverse."""
    here, there = plane(rng, options), plane(rng, elements)
    far = {(i, j): distance(a, b) for i, a in enumerate(here) for j, b in enumerate(there)}
    pairs = {p for p, d in far.items() if d <= radius}
    for i in range(options):
        pairs.update(sorted(((i, j) for j in range(elements)), key=far.__getitem__)[:2])
    for j in range(elements):
        pairs.update(sorted(((i, j) for i in range(options)), key=far.__getitem__)[:2])
    return sorted(pairs)
