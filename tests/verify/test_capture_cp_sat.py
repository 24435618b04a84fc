"""CP-SAT beyond linear rows: the captured model has the optimum that CP-SAT itself finds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orpipe.solve import Label, label
from orpipe.verify.replay import printed
from orpipe.verify.sandbox import Limits, Pool, Run

START = """
from ortools.sat.python import cp_model
m = cp_model.CpModel()
x, b = [m.new_int_var(-2, 5, f"x{k}") for k in range(4)], [m.new_bool_var(f"b{k}") for k in range(3)]
objective = 3 * x[0] - 2 * x[1] + x[2] + 2 * x[3] + 4 * b[0] - b[1] + 2 * b[2] + 1
"""
END = """
m.maximize(objective)
s = cp_model.CpSolver(); status = s.solve(m)
print(f"optimal_value = {s.objective_value}" if status == cp_model.OPTIMAL else f"status = {s.status_name(status)}")
"""
EXACT = {
    "enforced rows": "m.add(x[0] + x[1] <= 1).only_enforce_if(b[0]); m.add(x[2] == 3).only_enforce_if(~b[1], b[2])\n"
                     "m.add(x[3] - x[0] >= 1)",
    "a row with gaps": "m.add(x[0] != x[3]); m.add(x[2] != 5).only_enforce_if(b[2]); m.add(x[0] + x[3] != 9)",
    "a domain with gaps": "g = m.new_int_var_from_domain(cp_model.Domain.from_values([0, 1, 4, 7]), 'g')\n"
                          "m.add(x[0] + g <= 6); m.add(x[3] <= 2); objective += 2 * g",
    "clauses": "m.add_bool_or(b[0], ~b[1]).only_enforce_if(b[2]); m.add_bool_and(b[1], ~b[2]).only_enforce_if(b[0])\n"
               "m.add_at_most_one(b[0], ~b[2]); m.add_exactly_one(b); m.add_implication(b[1], b[0])",
    "exclusive or": "m.add_bool_xor(b[0], b[1], ~b[2]); m.add_bool_xor(b[0], b[2])",
    "max and min": "m.add_max_equality(x[1], [x[0], x[2] - 1, 2]); m.add_min_equality(x[3], [x[0], x[2] + 1])",
    "absolute values": "m.add_abs_equality(x[1], x[0] - x[2]); m.add_abs_equality(2, x[3])",
    "all different": "m.add_all_different(x); m.add_all_different(x[0] + 1, x[2] + 2, 6)",
    "products": "m.add_multiplication_equality(x[1], x[0], b[0]); m.add_multiplication_equality(x[3], [x[2], x[2]])",
    "division and remainder": "m.add_division_equality(x[1], x[0] + 2, 3)\n"
                              "m.add_modulo_equality(x[3], 2 * x[2] + 4, 5)",
    "element": "m.add_element(x[0], [1, x[1] + 2, x[2] - 3, 4], x[3])",
    "table": "m.add_allowed_assignments([x[0], x[1], x[2]], [(0, 1, 2), (2, 5, 3), (4, 4, -1), (3, 2, 0)])",
    "intervals": "s, ends = [[m.new_int_var(0, 9, f'{n}{k}') for k in range(3)] for n in 'se']\n"
                 "jobs = [m.new_interval_var(s[0], 3, ends[0], 'a'), m.new_interval_var(s[1], 2, ends[1], 'b'),\n"
                 "        m.new_optional_interval_var(s[2], 4, ends[2], b[0], 'c')]\n"
                 "m.add_no_overlap(jobs); objective -= sum(ends)",
    "circuit": "arcs = {(i, j): m.new_bool_var(f'a{i}{j}') for i in range(5) for j in range(5) if i != j}\n"
               "m.add_circuit([(i, j, z) for (i, j), z in arcs.items()] + [(4, 4, b[1])])\n"
               "objective -= sum((7 * i + 3 * j + i * j) % 11 * z for (i, j), z in arcs.items())",
    "nothing to maximise": "m.add(x[0] == 2); m.maximize = lambda _: None",
    "infeasible": "m.add_all_different(x[0], x[1]); m.add(x[0] == x[1])",
}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(workers=2, limits=Limits(seconds=60)) as made:
        yield made


def run(pool: Pool, body: str) -> Run:
    return pool.run(START + body + END)


@pytest.mark.parametrize("name", EXACT)
def test_the_captured_model_has_the_optimum_of_cp_sat(pool: Pool, name: str) -> None:
    found = run(pool, EXACT[name])
    assert found.outcome == "ok" and found.captured is not None and found.n_solves == 1, found
    ours, theirs = label(found.captured.problem()), printed(found.stdout)
    assert isinstance(ours, Label) and ours.status == theirs.status, (ours, theirs)
    assert ours.objective == pytest.approx(theirs.value) if theirs.value is not None else ours.objective is None


@pytest.mark.parametrize(("body", "words"), [
    ("m.add_forbidden_assignments(x[:2], [(1, 2)])", "table constraint forbids lines"),
    ("m.add_inverse(x[:2], x[2:])", "inverse constraint is not linear"),
    ("m.add_cumulative([m.new_fixed_size_interval_var(x[0], 2, 'i')], [1], 1)", "cumulative constraint is not linear"),
    ("m.add_division_equality(x[0], x[1], 2)", "divides negative numbers"),
    ("m.add_no_overlap([m.new_interval_var(x[k], x[2], x[3], 'i') for k in (0, 1)])", "may be empty"),
    ("y = m.new_int_var(0, 10**6, 'y'); m.add_multiplication_equality(y, [y, y])", "variables of many values"),
    ("m.add_max_equality(x[0], x[1:]).only_enforce_if(b[0])", "lin_max constraint is not linear and holds only under"),
    ("m.add_all_different(m.new_int_var(0, 9999, 'y'), x[0])", "all_diff constraint has more than 2000 values"),
    ("m.add_circuit([(0, 0, b[0]), (0, 1, b[1]), (1, 0, b[1]), (1, 1, b[0])])", "circuit constraint may be empty"),
    ("m.add_assumptions([b[0]])", "assumptions"),
])
def test_what_is_not_expressed_is_named(pool: Pool, body: str, words: str) -> None:
    found = run(pool, body)
    assert found.outcome == "unsupported" and words in found.message, found


def test_a_written_cp_sat_model_is_taken(pool: Pool) -> None:
    found = pool.run(START + "m.maximize(objective); m.add(x[0] != x[1]); m.export_to_file('model.pbtxt')")
    assert found.outcome == "ok" and found.captured is not None
    ours = label(found.captured.problem())
    assert isinstance(ours, Label) and ours.objective == 15 + 4 + 5 + 10 + 4 + 0 + 2 + 1
