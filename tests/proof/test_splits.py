"""The proof copy strengthened: no better point lost, every step judged by the checker, and what it is worth."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from orpipe.problem import Problem
from orpipe.proof import Certificate, check
from orpipe.proof.digest import digest
from orpipe.proof.form import Form
from orpipe.proof.reading import Fault
from orpipe.proof.replay import Replay
from orpipe.proof.search import Search
from orpipe.proof.strengthen import Strengthening, tightened
from orpipe.testing.solver_suite import model

from .small import integer_problem, points, ranked


def cutoff_of(problem: Problem, value: Fraction) -> Fraction:
    return (-1 if problem.maximize else 1) * (value - problem.offset) * problem.cost_exact.reduced().den


def holds(replay: Replay, point: Any) -> bool:
    """The point is in the replay's box and fulfils every row it has derived."""
    for x, low, high in zip(point, replay.lower, replay.upper, strict=True):
        if (low is not None and x * replay.box_den < low) or (high is not None and x * replay.box_den > high):
            return False
    for row, low in zip(replay.rows[replay.m:], replay.low[replay.m:], strict=True):
        if low is not None and sum((a * point[j] for j, a in row), start=Fraction(0)) * replay.side_den < low * replay.den:
            return False
    return True


@pytest.mark.parametrize("seed", range(80))
def test_the_points_in_question_stay_and_what_was_cut_off_is_no_point(seed: int) -> None:
    """Without an objective to beat every feasible point stays; with one every better point.  No other whole point comes in."""
    problem = integer_problem(seed)
    best = ranked(problem)
    values = sorted({value for value, _ in best}, reverse=problem.maximize)
    for cutoff in (None, *(cutoff_of(problem, v) for v in values[:3])):
        form = Form(problem, cutoff=cutoff, arrange=False)
        tightened(form, lambda objective: False)
        for point in points(problem):
            if cutoff is None or cutoff_of(problem, problem.objective(point)) < cutoff:
                assert holds(form.replay, point), (cutoff, point)
        low, high = form.box.lower, form.box.upper
        if (low > high).any():
            continue
        for whole in itertools.product(*(range(int(a), int(b) + 1) for a, b in zip(low, high, strict=True))):
            x = np.array(whole, float)
            activity = np.zeros(form.m)
            np.add.at(activity, form.row_of, form.num * x[form.column_of])
            inside = (~form.has_low | (activity >= form.row_low)).all() and (~form.has_high | (activity <= form.row_high)).all()
            if inside:  # rows were replaced, not lost
                assert not problem.violations(tuple(Fraction(v) for v in whole))


@pytest.mark.parametrize("seed", range(30))
def test_mixed_rows_with_a_big_m(seed: int) -> None:
    """x <= M y with continuous x that share a capacity: at every y the corners of the feasible x fulfil what was derived."""
    rng = np.random.default_rng([seed, 31])
    n = 3
    use, room = [int(v) for v in rng.integers(1, 5, n)], int(rng.integers(6, 20))
    need = int(rng.integers(1, max(2, room // max(use))))
    setup = [int(v) for v in rng.integers(0, 4, n)]
    rows: Any = [(None, {k: 1, n + k: -1000}, 0) for k in range(n)]
    rows += [(None, {**dict(enumerate(use)), **{n + k: setup[k] for k in range(n) if setup[k]}}, room)]
    rows += [(need, dict.fromkeys(range(n), 1), None)]
    problem = model([1] * n + [int(v) for v in rng.integers(3, 30, n)], rows, [(0, None)] * n + [(0, 1)] * n, integer=[False] * n + [True] * n)
    form = Form(problem)
    found = Strengthening(form)
    found.columns()
    found.violated(np.array([room / 2] * n + [0.01] * n))
    assert any(recipe[0] == "split" for recipe in form.derived)
    for y in itertools.product((0, 1), repeat=n):
        left = room - sum(s * v for s, v in zip(setup, y, strict=True))
        for k in range(n):
            for amount in {Fraction(left, use[k]), Fraction(need), Fraction(left, 2 * use[k])}:
                x = [amount if q == k else Fraction(0) for q in range(n)]
                point = (*x, *map(Fraction, y))
                if not problem.violations(point):
                    assert holds(form.replay, point), point


def lots(periods: int = 10) -> Problem:
    """A lot for some weeks' demand each time, the limit of a lot written a thousand times too large."""
    rng = np.random.default_rng(5)
    demand = [int(v) for v in rng.integers(20, 60, periods)]
    x, s, y = (lambda t: t), (lambda t: periods + t), (lambda t: 2 * periods + t)
    rows: Any = [(d, {x(t): 1, s(t): -1, **({s(t - 1): 1} if t else {})}, d) for t, d in enumerate(demand)]
    rows += [(None, {x(t): 1, y(t): -100_000}, 0) for t in range(periods)]
    rows += [(None, {x(t): 1, y(t): 7}, 100) for t in range(periods)]
    cost = [0] * periods + [2] * periods + [int(v) for v in rng.integers(60, 140, periods)]
    return model(cost, rows, [(0, None)] * (2 * periods) + [(0, 1)] * periods, integer=[False] * (2 * periods) + [True] * periods)


def best_of(problem: Problem) -> Fraction:
    from orpipe.solve import Label, label

    found = label(problem)
    assert isinstance(found, Label) and found.objective_exact is not None
    return found.objective_exact


def nodes(problem: Problem, value: Fraction, tight: bool) -> int:
    search = Search(Form(problem, cutoff=cutoff_of(problem, value)), cutoff_of(problem, value), nodes=20_000, tight=tight)
    assert search.run() == "closed"
    return len(search.tree)


def test_a_big_m_shrunk_saves_nearly_all_nodes() -> None:
    problem = lots()
    value = best_of(problem)
    plain, tight = nodes(problem, value, False), nodes(problem, value, True)
    assert plain > 100 and tight * 5 < plain, (plain, tight)


def pairs(items: int = 9) -> Problem:
    """Bins of 100 and items of 34 and a little more: two fit, three do not, which the sizes added up do not show."""
    bins, sizes = (items + 1) // 2, [34 + k for k in range(items)]
    put = [[bins + i * bins + b for b in range(bins)] for i in range(items)]
    rows: Any = [(1, dict.fromkeys(put[i], 1), 1) for i in range(items)]
    rows += [(None, {b: -100, **{put[i][b]: sizes[i] for i in range(items)}}, 0) for b in range(bins)]
    names = [f"y[{b}]" for b in range(bins)] + [f"x[{i},{b}]" for i in "abcdefghi"[:items] for b in range(bins)]
    plain = model([1] * bins + [0] * (items * bins), rows, [(0, 1)] * (bins + items * bins), integer="all")
    return replace(plain, columns=tuple(names))


def test_bins_close_at_the_root_once_their_coefficients_are_lifted() -> None:
    problem = pairs()
    assert nodes(problem, Fraction(5), True) <= 3 < 200 < nodes_or_more(problem, Fraction(5), 300)


def nodes_or_more(problem: Problem, value: Fraction, most: int) -> int:
    search = Search(Form(problem, cutoff=cutoff_of(problem, value), arrange=False), cutoff_of(problem, value), nodes=most, cuts=False)
    search.run()
    return len(search.tree)


def certificate(problem: Problem, value: Fraction, point: Any) -> Certificate:
    cutoff = cutoff_of(problem, value)
    form = Form(problem, cutoff=cutoff)
    search = Search(form, cutoff, nodes=20_000, tight=True)
    assert search.run() == "closed"
    step = None if form.step is None else str(form.step / form.cost_den)
    return Certificate(digest(problem), "optimal", str(value), [str(v) for v in point], step=step, symmetry=form.symmetry,
                       bounds=form.bounds, derived=form.derived, tree=search.tree)


def lots_proved() -> tuple[Problem, Certificate]:
    from orpipe.solve import Label, label

    problem = lots(5)
    found = label(problem)
    assert isinstance(found, Label) and found.objective_exact is not None
    return problem, certificate(problem, found.objective_exact, found.point)


def bins_proved() -> tuple[Problem, Certificate]:
    problem = pairs(7)
    point = [Fraction(1)] * 4 + [Fraction(int(i // 2 == b)) for i in range(7) for b in range(4)]
    return problem, certificate(problem, Fraction(4), point)


def test_the_samples_use_every_kind_of_step() -> None:
    used = {recipe[0] for _, made in (lots_proved(), bins_proved()) for recipe in made.derived or ()}
    assert {"cutoff", "bounds", "split", "order"} <= used
    for problem, made in (lots_proved(), bins_proved()):
        assert check(problem, made) == [] and check(problem, Certificate.from_json(made.to_json())) == []


def changed(value: Any, path: tuple, new: Any) -> Any:
    if not path:
        return new
    copy = list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def leaves(value: Any, path: tuple = ()) -> Any:
    if isinstance(value, list):
        for k, part in enumerate(value):
            yield from leaves(part, (*path, k))
    elif value is not None:
        yield path, value


@pytest.mark.parametrize("made", [lots_proved, bins_proved])
def test_every_value_of_a_step_changed(made: Any) -> None:
    """Against a claim that is false, no change of any derived step makes a proof; against the true one most are refused."""
    problem, good = made()
    worse_value = Fraction(good.objective or 0) + 1
    worse = replace(good, objective=str(worse_value), point=_worse(problem, worse_value))
    assert check(problem, worse)
    found = list(leaves(good.derived))
    refused = total = 0
    for path, value in found[:: max(1, len(found) // 120)]:
        options: tuple = (value + 1, -value - 2, value * 1000 + 1) if type(value) is int else (f"-{value}", "0", "nonsense")
        for new in options:
            derived = changed(good.derived, path, new)
            assert check(problem, replace(worse, derived=derived)), (path, value, new)
            total += 1
            refused += bool(check(problem, replace(good, derived=derived)))
    assert refused > total / 2


def _worse(problem: Problem, value: Fraction) -> list[str]:
    """A feasible point of this objective, or any one: then the claim itself is refused."""
    worse = [Fraction(v) for v in (1,) * problem.n_vars]
    return [str(v) for v in worse]


def test_steps_that_do_not_follow_are_refused() -> None:
    """x, y binary and z in 0..9 with x + z <= 9 y + 1, and 3 x + 2 z <= 8: by hand z <= 1 without y, and z <= 4 with it."""
    problem = model([-1, 1, -1], [(None, {0: 1, 2: 1, 1: -9}, 1), (None, {0: 3, 2: 2}, 8)], [(0, 1), (0, 1), (0, 9)], integer="all")
    without, with_y = [[2, "upper", "1", 0]], [[2, "upper", "4", 1]]

    def derived(recipe: list) -> Replay:
        replay = Replay(problem)
        replay.tighten([])
        replay.derive(recipe)
        return replay

    good = derived(["split", 1, 0, without, with_y, [[[[2, 1]], None]]])
    assert good.rows[-1] == [(1, 3), (2, -1)] and good.low[-1] == -1  # z <= 1 + 3 y
    tightened_row = derived(["split", 1, 0, without, with_y, [[[[0, 1], [2, 1]], 0]]])
    assert tightened_row.rows[-1] == [(0, -1), (1, 4), (2, -1)] and tightened_row.low[-1] == -1  # x + z <= 1 + 4 y
    for wrong in (
        ["split", 1, 0, [[2, "upper", "0", 0]], with_y, [[[[2, 1]], None]]],  # a bound that is too sharp
        ["split", 1, 0, without, [[2, "upper", "4", 0]], [[[[2, 1]], None]]],  # another row
        ["split", 1, 1, without, with_y, [[[[2, 1]], None]]],  # nothing above
        ["split", 2, 3, [], [], [[[[0, 1]], 1]]],  # beyond the sides of z the row need not hold
        ["split", 1, 0, without, with_y, [[[[0, 1], [2, 2]], 0]]],  # no multiple of the row
        ["split", 1, 0, without, with_y, [[[[2, 1], [2, 1]], None]]],
        ["split", 1, 0, without, with_y, [[[[1, 1], [2, 1]], None]]],
        ["split", 1, 0, without, with_y, [[[[2, 0]], None]]],
        ["probe", 1, 0, 0, without], ["probe", 0, 0, 1, []],  # sides with points
        ["cutoff", 1, []],  # nothing to beat
        ["order", 0], ["fold", 1],
    ):
        with pytest.raises(Fault):
            derived(wrong)


def test_a_cutoff_needs_the_objective_to_beat() -> None:
    """min x + y over x + y >= 3 (whole, 0..5), to beat 4 in steps of 1: 3 at most, and one unit less with the row's multiplier 1."""
    problem = model([1, 1], [(3, {0: 1, 1: 1}, None)], [(0, 5)] * 2, integer="all")
    replay = Replay(problem)
    replay.limit = Fraction(3)
    replay.derive(["cutoff", 1, []])
    assert replay.rows[-1] == [(0, -1), (1, -1)] and replay.low[-1] == -3
    replay.derive(["cutoff", 2, [[0, 1]]])
    assert Fraction(replay.low[-1] or 0, replay.side_den) == -3  # (x + y) / 2 <= 3 / 2, scaled
    with pytest.raises(Fault):
        replay.derive(["cutoff", 0, []])
    with pytest.raises(Fault):
        replay.derive(["cutoff", 1, [[0, -1]]])


def test_certificates_stay_of_one_size_in_json() -> None:
    problem, made = lots_proved()
    assert len(json.dumps(made.derived)) < 40_000 and made.nodes < 200
    assert math.isfinite(problem.upper[-1])
