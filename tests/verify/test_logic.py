"""Logic as rows and binaries: on small boxes, every whole point of the model's own columns is tried."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from orpipe.errors import Unsupported
from orpipe.verify.bounds import Bounds, Linear, Span
from orpipe.verify.capture import Captured
from orpipe.verify.capture._highs import answer
from orpipe.verify.logic import Literal, Logic

INF = np.inf


def model(bounds: Sequence[tuple[float, float]], rows: Sequence[tuple[Sequence[float], float, float]] = (),
          whole: bool = True) -> Captured:
    """Columns within `bounds`; rows as coefficients, lower and upper side."""
    n = len(bounds)
    matrix = np.array([row for row, _, _ in rows], float).reshape(-1, n)
    return Captured.of(
        "gurobipy", "test", maximize=False, offset=0, columns=[f"x{k}" for k in range(n)],
        rows=[f"r{i}" for i in range(len(rows))], cost=[0] * n, lower=[low for low, _ in bounds],
        upper=[high for _, high in bounds], integer=[whole] * n, row_lower=[low for _, low, _ in rows],
        row_upper=[high for _, _, high in rows], indptr=np.arange(len(rows) + 1) * n,
        indices=np.tile(np.arange(n), len(rows)), data=matrix.ravel())


def fixed(found: Captured, point: Sequence[float]) -> bool:
    """Can the added columns be chosen so that the point is feasible?"""
    lower, upper = found.lower.copy(), found.upper.copy()
    if (lower[:len(point)] > point).any() or (upper[:len(point)] < point).any():
        return False
    lower[:len(point)] = upper[:len(point)] = point
    arrays = {name: getattr(found, name) for name in (
        "rows", "cost", "integer", "row_lower", "row_upper", "indptr", "indices", "data")}
    tried = Captured.of("gurobipy", "test", maximize=False, offset=0, columns=found.columns, lower=lower, upper=upper,
                        **arrays)
    return answer(tried).status == "optimal"


X = Linear.column
ON, OFF = Literal(0), Literal(0, False)
BOX = [(0, 1), (0, 1), (-2, 2), (-1, 3)]  # two binaries and two whole numbers

CASES: dict[str, tuple[Callable[[Logic], None], Callable[..., bool]]] = {
    "indicator": (lambda m: m.enforced([ON], Linear((2, 3), (2.0, -1.0), 1.0), -INF, 0.5),
                  lambda a, b, x, y: not a or 2 * x - y + 1 <= 0.5),
    "indicator at 0, two sides": (lambda m: m.enforced([OFF], Linear((2, 3), (1.0, 1.0)), 0, 2),
                                  lambda a, b, x, y: bool(a) or 0 <= x + y <= 2),
    "two conditions": (lambda m: m.enforced([ON, Literal(1, False)], X(2), 1, 1),
                       lambda a, b, x, y: not (a and not b) or x == 1),
    "condition in its own row": (lambda m: m.enforced([OFF], Linear((2, 0), (1.0, 5.0)), 2, INF),
                                 lambda a, b, x, y: bool(a) or x >= 2),
    "no condition": (lambda m: m.enforced([], X(2), -1, 1), lambda a, b, x, y: -1 <= x <= 1),
    "equivalence": (lambda m: m.equivalent(ON, Linear((2, 3), (1.0, 2.0)), -INF, 2.5),
                    lambda a, b, x, y: bool(a) == (x + 2 * y <= 2.5)),
    "equivalence with an equation": (lambda m: m.equivalent(ON, Linear((2, 3), (1.0, 2.0)), 2, 2),
                                     lambda a, b, x, y: bool(a) == (x + 2 * y == 2)),
    "and": (lambda m: m.conjunction(ON, [Literal(1), Literal(4, False)]),
            lambda a, b, x, y, c: bool(a) == bool(b and not c)),
    "or": (lambda m: m.disjunction(OFF, [Literal(1), Literal(4)]), lambda a, b, x, y, c: (not a) == bool(b or c)),
    "max": (lambda m: m.maximum(Linear((3,), (1.0,), -1.0), [X(2), Linear((0, 1), (1.0, -1.0))]),
            lambda a, b, x, y: y - 1 == max(x, a - b)),
    "max of three": (lambda m: m.maximum(X(3), [X(2), X(0), Linear(constant=-1.0)]), lambda a, b, x, y: y == max(x, a)),
    "max with one that always wins": (lambda m: m.maximum(X(3), [X(0), Linear(constant=2.0)]),
                                      lambda a, b, x, y: y == 2),
    "max of numbers": (lambda m: m.maximum(X(3), [Linear(constant=1.0), Linear((0, 0), (1.0, -1.0), 1.0)]),
                       lambda a, b, x, y: y == 1),
    "min": (lambda m: m.minimum(X(3), [X(2), Linear((0,), (2.0,))]), lambda a, b, x, y: y == min(x, 2 * a)),
    "abs": (lambda m: m.absolute(X(3), X(2)), lambda a, b, x, y: y == abs(x)),
    "product": (lambda m: m.row(X(3) - m.product(2, 0), 0, 0), lambda a, b, x, y: y == a * x),
    "square of a binary": (lambda m: m.row(X(3) - m.product(0, 0), 0, 0), lambda a, b, x, y: y == a),
    "set of type 1": (lambda m: m.ordered_set(1, [0, 2, 3]), lambda a, b, x, y: sum(v != 0 for v in (a, x, y)) <= 1),
    "set of type 2": (lambda m: m.ordered_set(2, [2, 0, 3, 1]),
                      lambda a, b, x, y: [k for k, v in enumerate((x, a, y, b)) if v] in (
                          [], [0], [1], [2], [3], [0, 1], [1, 2], [2, 3])),
    "semi-continuous": (lambda m: m.semicontinuous(3, 2, 3), lambda a, b, x, y: y == 0 or 2 <= y <= 3),
    "pieces": (lambda m: m.within(Linear((2, 3), (1.0, 1.0)), [Span(-INF, -2), Span(0, 0), Span(3, INF)]),
               lambda a, b, x, y: x + y <= -2 or x + y == 0 or x + y >= 3),
    "pieces under a condition": (lambda m: m.within(X(3), [Span(-1, 0), Span(2, 9)], [ON]),
                                 lambda a, b, x, y: not a or y != 1),
    "all different": (lambda m: m.all_different([X(0), X(2), Linear((3,), (1.0,), 1.0)]),
                      lambda a, b, x, y: len({a, x, y + 1}) == 3),
    "piecewise": (lambda m: m.piecewise(2, X(3), [(-1, 2), (0, 0), (1, 1)]),
                  lambda a, b, x, y: y == {-2: 4, -1: 2, 0: 0, 1: 1, 2: 2}[x]),
    "literal count": (lambda m: m.counted([ON, Literal(1, False)], 1, 1), lambda a, b, x, y: a + (not b) == 1),
}


@pytest.mark.parametrize("name", CASES)
def test_exactly_the_right_points_remain(name: str) -> None:
    add, right = CASES[name]
    box = BOX + [(0, 1)] * (name in ("and", "or"))
    logic = Logic(model(box)).about(name, "it")
    add(logic)
    found = logic.captured()
    assert found.columns[:len(box)] == model(box).columns and found.interface == "test"
    points = list(itertools.product(*(range(low, high + 1) for low, high in box)))
    assert [p for p in points if fixed(found, p)] == [p for p in points if right(*p)]
    assert 0 < sum(right(*p) for p in points) < len(points)


def test_a_piecewise_objective_and_products_are_charged() -> None:
    logic = Logic(model([(0, 1), (0, 4)]))
    value = logic.about("objective").column("value", -INF, INF, cost=2.0)
    logic.piecewise(1, X(value), [(0, 1), (2, 0), (4, 4)])
    logic.charge(logic.product(0, 1), -1.5)
    logic.charge(X(0), 0.25)
    found = logic.captured()
    costs = {0: 1, 1: 0.5, 2: 0, 3: 2, 4: 4}
    best = min((2 * costs[x] - 1.5 * a * x + 0.25 * a, a, x) for a in (0, 1) for x in range(5))
    result = answer(found)
    assert result.objective == pytest.approx(best[0]) and result.values is not None
    assert result.values[:2].tolist() == [best[1], best[2]]


def test_bounds_are_found_in_rows_and_rounded_away() -> None:
    base = model([(0, INF), (-INF, INF), (0, 1), (0, 1)], [
        ([1, 0, 0, 0], -INF, 7.3), ([1, 2, 0, 0], 1, 5), ([0, 0, 1, 1], 1, INF)], whole=False)
    bounds = Bounds(base)
    assert bounds.span(X(0)) == Span(0, INF) and not bounds.span(X(1)).finite
    bounds.propagate(())
    assert bounds.span(X(0)) == Span(0, 8)
    low, high = bounds.span(X(1)).lower, bounds.span(X(1)).upper
    assert (float(low), float(high)) == (-4, 3)  # -3.5 and 2.5, not tighter
    assert bounds.span(Linear((0, 1, 0), (1.0, 2.0, -1.0), 0.1)).lower == Span(-8, 0).lower + bounds.span(
        Linear(constant=0.1)).lower


def test_a_big_m_is_the_decimal_that_makes_the_side_whole() -> None:
    logic = Logic(model([(0, 1), (0, 5)], whole=True)).about("indicator", "c")
    logic.enforced([ON], Linear((1,), (1.1,)), -INF, 0.7)
    found = logic.captured()
    assert found.row_upper.tolist() == [6] and found.data.tolist() == [1.1, 5.3]  # 5.5 at most, so 6 = 0.7 + 5.3


def test_one_of_several_conditional_rows_bounds_a_free_column() -> None:
    """As COPT writes max: y above both, and below one of them, by an indicator each."""
    base = Captured.of(
        "coptpy", "test", maximize=False, offset=0, columns=["a", "b", "x", "y"], rows=["one", "up"], cost=[0] * 4,
        lower=[0, 0, 0, -INF], upper=[1, 1, 3, INF], integer=[True, True, False, False], row_lower=[1, 0],
        row_upper=[INF, INF], indptr=[0, 2, 4], indices=[0, 1, 3, 2], data=[1, 1, 1, -1])
    logic = Logic(base).about("indicator", "m")
    logic.enforced([ON], Linear((3, 2), (1.0, -1.0)), -INF, 0)
    logic.enforced([Literal(1)], X(3), -INF, 2)
    assert logic.captured().row_upper[2:].tolist() == [4, 4]  # y <= 3, which is found as 3 and a bit
    alone = Logic(base).about("indicator", "m")
    alone.enforced([ON], Linear((3, 2), (1.0, -1.0)), -INF, 0)
    with pytest.raises(Unsupported, match="coptpy: the indicator 'm' needs finite bounds"):
        alone.captured()


@pytest.mark.parametrize(("add", "words"), [
    (lambda m: m.maximum(X(0), [X(1), X(2)]), "max 'm' needs finite bounds"),
    (lambda m: m.equivalent(Literal(3), X(2), -INF, 1), "needs a strict inequality"),
    (lambda m: m.literal(2), "no binary variable"),
    (lambda m: m.ordered_set(1, [1, 2]), "needs finite bounds"),
    (lambda m: m.product(1, 2), "none is binary"),
    (lambda m: m.product(3, 1), "needs finite bounds"),
    (lambda m: m.piecewise(2, X(0), [(0, 0), (1, 1), (1, 2)]), "jumps"),
    (lambda m: m.all_different([Linear((2,), (5000.0,))]), "more than 2000 values"),
])
def test_what_has_no_bound_or_no_rows_is_named(add: Callable[[Logic], object], words: str) -> None:
    base = Captured.of(
        "gurobipy", "test", maximize=False, offset=0, columns=["y", "x", "z", "b"], rows=[], cost=[0] * 4,
        lower=[0, 0, 0, 0], upper=[INF, INF, 1.5, 1], integer=[False, False, False, True], row_lower=[], row_upper=[],
        indptr=[0], indices=[], data=[])
    with pytest.raises(Unsupported, match=words):
        add(Logic(base).about("max", "m"))
