"""Normal forms, isomorphism, the hash, and what names propose."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from orpipe.families import families
from orpipe.instances import draw
from orpipe.mutate.harmless import Sheet, reformulation_by_id
from orpipe.problem import Problem
from orpipe.verify.equivalence import fingerprint
from orpipe.verify.equivalence.canonical import Graph, centred, isomorphism
from orpipe.verify.equivalence.forms import keys, one_sided
from orpipe.verify.equivalence.names import Names, equal_names, index_maps
from orpipe.verify.equivalence.normalise import normalise, snapped


def problem(A: list[list[float]], low: list[float], high: list[float], cost: list[float], **more: object) -> Problem:
    n = len(cost)
    settings = {"lower": np.zeros(n), "upper": np.full(n, np.inf), "integer": np.zeros(n, bool)} | more
    return Problem.from_arrays(matrix=np.array(A, float), row_lower=low, row_upper=high, cost=cost, **settings)  # type: ignore[arg-type]


def mixed(p: Problem, seed: int) -> Problem:
    """Columns, rows and names in disorder, binaries asked the other way round."""
    rng = np.random.default_rng(seed)
    for name in ("columns-permuted", "rows-permuted", "rows-negated", "rows-scaled", "binaries-complemented"):
        p = reformulation_by_id(name).apply(p, rng) or p
    return replace(p, columns=tuple(f"q{k}" for k in range(p.n_vars)))


@pytest.mark.parametrize("name", families.names())
def test_a_model_in_disorder_is_itself(name: str) -> None:
    p = draw(name, 2, 0, 0).problem
    q = mixed(p, 1)
    a, b = centred(normalise(p)), centred(normalise(q))
    found = isomorphism(a, b)
    assert found is not None
    assert sorted(found.to.tolist()) == list(range(p.n_vars))
    np.testing.assert_allclose(a.form.cost, found.sign * b.form.cost[found.to], rtol=1e-9)
    assert fingerprint(p) == fingerprint(q)


def test_one_changed_number_is_seen() -> None:
    for name in families.names():
        sheet = Sheet.of(draw(name, 1, 0, 0).problem)
        row = next(r for r in sheet.rows if len(r.entries) > 1)
        j = next(iter(row.entries))
        row.entries[j] *= 3
        p, q = draw(name, 1, 0, 0).problem, sheet.problem()
        assert isomorphism(centred(normalise(p)), centred(normalise(mixed(q, 2)))) is None


@pytest.mark.parametrize("size", [2, 3, 6])
def test_uniform_assignments_equal_themselves(size: int) -> None:
    """All costs alike: colours tell nothing apart, the search has to choose."""
    A = np.zeros((2 * size, size * size))
    for i, j in itertools.product(range(size), repeat=2):
        A[i, i * size + j] = A[size + j, i * size + j] = 1
    p = problem(A.tolist(), [1.0] * (2 * size), [1.0] * (2 * size), [1.0] * size**2, upper=np.ones(size**2), integer=np.ones(size**2, bool))
    assert isomorphism(centred(normalise(p)), centred(normalise(mixed(p, 3)))) is not None


def test_colours_alone_would_confuse_one_ring_of_six_with_two_of_three() -> None:
    def rings(*sizes: int) -> Problem:
        edges, start = [], 0
        for size in sizes:
            edges += [(start + k, start + (k + 1) % size) for k in range(size)]
            start += size
        A = np.zeros((6, 6))
        for r, (i, j) in enumerate(edges):
            A[r, [i, j]] = 1
        return problem(A.tolist(), [-np.inf] * 6, [1.0] * 6, [-1.0] * 6, upper=np.ones(6), integer=np.ones(6, bool))

    one, two = rings(6), rings(3, 3)
    assert fingerprint(one) == fingerprint(two)
    assert isomorphism(centred(normalise(one)), centred(normalise(two))) is None
    assert isomorphism(centred(normalise(one)), centred(normalise(mixed(one, 4)))) is not None


def test_a_map_keeps_to_the_hint_where_symmetry_leaves_a_choice() -> None:
    p = problem([[1, 1, 1]], [2], [2], [1, 1, 1])
    for order in itertools.permutations(range(3)):
        found = isomorphism(centred(normalise(p)), centred(normalise(p)), hint=np.array(order))
        assert found is not None
        assert found.to.tolist() == list(order)


def test_the_search_is_bounded() -> None:
    p = problem([[1] * 8], [2], [2], [1] * 8)
    graph = Graph.of(centred(normalise(p)), centred(normalise(p)))
    assert graph is not None
    assert list(graph.search(tries=3)) == []


def test_singletons_tighten_bounds_and_never_loosen_them() -> None:
    p = problem([[2, 0], [0, -3], [0, 1], [0, 0]], [-np.inf, -np.inf, -5, -1], [6, -6, 9, 1], [1, 1], upper=[2.0, 7.0], lower=[-1.0, 0.0])
    form = normalise(p)
    assert form.m == 0
    assert form.low.tolist() == [-1.0, 2.0]
    assert form.high.tolist() == [2.0, 7.0]
    assert not form.empty


def test_what_contradicts_is_marked() -> None:
    assert normalise(problem([[1, 0]], [5], [9], [1, 1], upper=[4.0, 4.0])).empty
    assert normalise(problem([[0, 0]], [5], [9], [1, 1])).empty
    assert normalise(problem([[1, 1]], [5], [9], [1, 1], lower=[0.2, 0], upper=[0.8, 1], integer=[True, False])).empty


def test_sides_of_whole_rows_are_values_that_sums_can_take() -> None:
    p = problem([[2, 4], [0.5, 1.5], [1, 0.3]], [-np.inf] * 3, [7.9, 2.2, 2.2], [1, 1], integer=[True, True])
    assert normalise(p).hi.tolist() == [6.0, 2.0, 2.2]


def test_rows_are_one_sided_units_and_the_tightest_of_parallel_ones() -> None:
    p = problem([[2, 4], [1, 2], [-1, -2], [1, 1]], [-np.inf, 1, -np.inf, 3], [8, 3, -2, 3], [1, 1])
    rows = one_sided(normalise(p))
    found = {tuple(P): q for P, q in zip(rows.P.tolist(), rows.q.tolist(), strict=True)}
    assert found == {(0.5, 1.0): 1.5, (-0.5, -1.0): -1.0, (1.0, 1.0): 3.0, (-1.0, -1.0): -3.0}


def test_keys_see_ten_digits_of_small_and_large_entries_alike() -> None:
    base = np.array([[1.0, 3e-9, 1e9]])
    same, other = base * (1 + 1e-13), base * np.array([1, 1 + 1e-8, 1])
    assert next(keys(base)) == next(keys(same))
    assert next(keys(base)) != next(keys(other))
    assert next(keys(np.array([[1.0]]))) == next(keys(np.array([[1 - 1e-15]])))


def test_numbers_of_a_program_as_they_were_meant() -> None:
    p = problem([[0.1 + 0.2, 1 / 3], [0.1, 0.7 * 3]], [0, 0], [1, 1], [0.1 * 3, 2])
    assert [str(v) for v in snapped(p).matrix_exact.fractions()] == ["3/10", "1/3", "1/10", "21/10"]
    assert str(snapped(p).cost_exact.fractions()[0]) == "3/10"
    plain = draw("diet", 1, 0, 0).problem
    assert snapped(plain) is plain


def test_names_however_libraries_write_them() -> None:
    a, b = Names.of(("ship[North,Alder]", "ship[North,Birch]", "open[North]")), Names.of(("open_North", "ship_North_Alder", "Ship(North, Birch)"))
    assert equal_names(a, b) == [(0, 1), (1, 2), (2, 0)]
    assert a.told
    assert not Names.of(("x1", "x2", "x3")).told
    assert not Names.of(("C0001", "C0002")).told
    assert Names.of(("x1", "y1")).told
    assert Names.of(("x_1_1", "x_1_2")).told


def test_labels_are_matched_as_they_are_by_number_or_by_order() -> None:
    p = draw("transportation", 1, 0, 0).problem
    names, form = Names.of(p.columns), normalise(p)
    m = max(int(c.partition("[")[0] != "") for c in p.columns)
    assert m == 1
    sources = [c.partition("[")[2].rstrip("]").split(",") for c in p.columns]
    first, second = (list(dict.fromkeys(s[k] for s in sources)) for k in (0, 1))
    numbered = tuple(f"y_{first.index(i) + 1}_{second.index(j) + 1}" for i, j in sources)
    turned = tuple(f"flow[{j},{i}]" for i, j in sources)
    for columns in (numbered, turned):
        by = next(iter(index_maps(names, Names.of(columns), form, normalise(replace(p, columns=columns)), p.decision)))
        assert [(pair.a, pair.b) for pair in by.pairs] == [(k, k) for k in range(p.n_vars)]
