"""Conformance of problem families: every family found gets these checks for free.

Each function raises AssertionError with what is wrong; tests/test_families.py runs them over the registry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from orpipe.algebra.nodes import Model
from orpipe.algebra.parse import parse_model, rename_like
from orpipe.algebra.text import model_text
from orpipe.exact import fraction
from orpipe.families import Family, Rejected
from orpipe.ground import ground, structure_hash
from orpipe.instances import Instance, draw, golden
from orpipe.render.answer import Solution, render_answer
from orpipe.render.emit import emit
from orpipe.render.files import data_json
from orpipe.render.nl import INTERFACES, REGISTERS, problem_wordings, render_problem
from orpipe.render.words import figure
from orpipe.scenarios import scenarios
from orpipe.solve import Label, label
from orpipe.testing.prose import flaws, prose
from orpipe.verify.replay import Script

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)")


def check_declaration(family: Family) -> None:
    """Source, levels, scenarios and a golden argument are there; every row names its words; kinds agree."""
    assert len(family.source()) > 20, "docstring lacks «Source: <book or paper>»"
    assert family.summary().endswith("."), "docstring must open with one sentence"
    assert len(family.levels) >= 3, "three levels at least"
    assert len(scenarios(family.name)) >= 3, "three scenarios at least"
    assert len(family.golden.why) > 40, "golden instance lacks its argument"
    for formulation in family.formulations:
        model = family.symbolic(formulation)
        tight = [*(r.tightened_by for r in model.rows), *(d.tightened_by for d in model.idioms)]
        assert any(tight), "no row names the data entry that tightens it"
    if len(family.formulations) > 1:
        assert family.shared, "formulations without the symbols of the decisions they share"
        for formulation in family.formulations:
            for symbol in family.shared:
                assert not family.symbolic(formulation).var_by[symbol].auxiliary, f"shared '{symbol}' is auxiliary in {formulation}"


def check_golden(family: Family) -> None:
    """Every formulation gives the hand-worked optimum, exactly."""
    for formulation in family.formulations:
        found = label(golden(family.name, formulation).problem)
        assert isinstance(found, Label), f"{formulation}: {found}"
        by_hand = Fraction(str(family.golden.optimum))
        assert found.objective_exact == by_hand, f"{formulation}: optimum {found.objective_exact}, by hand {by_hand}"


def drawn(family: Family, level: int, index: int, formulation: str = "", scenario_id: str = "") -> Instance:
    """A draw; the next one if the sampler rejects it (at most 20 times)."""
    for k in range(20):
        try:
            return draw(family.name, level, 11, index + 1000 * k, formulation=formulation, scenario_id=scenario_id)
        except Rejected:
            continue
    raise AssertionError(f"20 draws of {family.name} level {level} were rejected")


def check_levels(family: Family, draws: int = 3) -> None:
    """Draws are labelled optimal, of the declared kind, with a nonzero optimum; sizes grow with the level."""
    sizes = []
    for level in range(1, len(family.levels) + 1):
        for index in range(draws):
            instance = drawn(family, level, index)
            found = label(instance.problem, nodes=200_000)
            assert isinstance(found, Label), f"{instance.id}: {found}"
            assert found.status == "optimal", f"{instance.id} is {found.status}"
            assert found.objective_exact, f"{instance.id} has the trivial optimum 0"
            kinds = {family.kind} | ({"BIP", "IP"} if family.kind == "MILP" else set())
            assert instance.problem.kind in kinds, f"{instance.id} is {instance.problem.kind}, the family says {family.kind}"
        sizes.append(instance.problem.n_vars * max(1, instance.problem.n_rows))
    assert sizes == sorted(set(sizes)), f"sizes do not grow with the level: {sizes}"


def check_formulations(family: Family) -> None:
    """Formulations of one instance agree in the optimum, and the optimum of one is attained on the shared decisions of the others."""
    instances = [drawn(family, 2, 5, formulation=f) for f in family.formulations]
    labels = [label(i.problem) for i in instances]
    values = {x.objective_exact for x in labels if isinstance(x, Label)}
    assert len(values) == 1 and all(isinstance(x, Label) for x in labels), f"formulations disagree: {labels}"


def check_texts(family: Family, level: int) -> None:
    """Every register and interface, in every scenario and formulation, states the whole model and no number of its own."""
    for formulation in family.formulations:
        for scene in scenarios(family.name):
            instance = drawn(family, level, 3, formulation, scene.id)
            data, counts = set(data_numbers(instance)), set(count_numbers(instance))
            for register in REGISTERS:
                names = problem_wordings(family.name, register)
                for interface, (wording, name) in product(INTERFACES, enumerate(names)):
                    where = f"{name}, {interface}, {scene.id}"
                    problem = render_problem(instance, register, interface, wording)
                    assert not (missing := problem.missing(instance.model)), f"{where} leaves unsaid {missing}"
                    assert "{" not in re.sub(r"`[^`]*`", "", problem.text), f"{where}: a hole was not filled"
                    assert not (found := flaws(problem.text)), f"{where}: {found}"
                    assert not (letters := set(lone_letters(problem.text, instance))), f"{where}: symbols in the story: {letters}"
                    shown = set(numbers_in(problem.text, instance))
                    if interface in ("json", "csv"):
                        assert not (leaked := {x for x in shown - counts if len(x) > 2}), f"{where} shows values of a file: {leaked}"
                    else:
                        assert not (foreign := shown - data - counts), f"{where} shows numbers that are not data: {foreign}"
                        assert not (lost := data - shown - {"0", "1"}), f"{where} does not show {lost}"


def lone_letters(text: str, instance: Instance) -> Iterator[str]:
    """Single letters of the prose that are neither words, labels nor units: symbols of the model that leaked."""
    words = {"a", "A", "I", "s", "X"} | {x for pair in instance.scenario.units.values() for x in pair}
    words |= {x for name in label_texts(instance) for x in name.split()}
    yield from (x for x in re.findall(r"(?<![\w-])[A-Za-z](?![\w-])", prose(text)) if x not in words)


def numbers_in(text: str, instance: Instance) -> Iterator[str]:
    """Numbers of a text, with labels of elements taken out first."""
    for name in sorted(label_texts(instance), key=len, reverse=True):
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.]*\w)", "·", text) if not name.isdigit() else text
    yield from _NUMBER.findall(text)


def label_texts(instance: Instance) -> set[str]:
    return {str(x) for s in instance.model.sets if not s.over for x in instance.data[s.symbol]}


def data_numbers(instance: Instance) -> Iterator[str]:
    def walk(node: object) -> Iterator[str]:
        if isinstance(node, dict):
            for value in node.values():
                yield from walk(value)
        else:
            yield figure(node)

    for p in instance.model.params:
        yield from walk(instance.data[p.symbol])


def count_numbers(instance: Instance) -> Iterator[str]:
    """Sizes of sets, numbered labels, and the small whole numbers of lists."""
    for s in instance.model.sets:
        size = len(instance.data[s.symbol]) if s.symbol in instance.data else 0
        yield str(size)
        if s.numbered:
            yield from (str(k + 1) for k in range(size))


def check_answer(family: Family, level: int) -> None:
    """The optimum can be told in the story's words."""
    for scene in scenarios(family.name):
        instance = drawn(family, level, 4, scenario_id=scene.id)
        found = label(instance.problem)
        assert isinstance(found, Label) and found.point is not None
        text = render_answer(instance, Solution.of(instance, found.point))
        assert len(text) > 10 and text.endswith("."), f"{instance.id}: {text!r}"
        assert not (slips := flaws(text)), f"{instance.id}: {slips}"


def check_algebra(family: Family) -> None:
    """The plain-text algebra parses back and grounds to the same Problem with the same data."""
    for formulation in family.formulations:
        instance = drawn(family, 2, 1, formulation)
        parsed = parse_model(model_text(instance.linear))
        again = ground(rename_like(parsed, instance.linear), instance.data)
        assert (difference := instance.problem.difference(again)) is None, f"{instance.id}: {difference}"
        assert structure_hash(parsed) == structure_hash(instance.linear), f"{instance.id}: another structure hash"


def scripts(family: Family, dialect: str, level: int) -> list[Script]:
    """Programs of a family in a dialect: every formulation, source and style, for replay."""
    out = []
    for formulation in family.formulations:
        instance = drawn(family, level, 2, formulation)
        found = label(instance.problem)
        assert isinstance(found, Label)
        for source in ("inline", "json"):
            for style in ("script", "function"):
                files = {"data.json": data_json(instance.linear, instance.data)} if source == "json" else {}
                program = emit(instance.linear, instance.data, dialect, source=source, style=style)
                out.append(Script(program, instance.problem, found.objective, "optimal", files))
    return out


def check_rows_matter(family: Family, draws: int = 6) -> None:
    """No row family is idle on every draw: dropping it changes the optimum, or it binds at the optimum, on some draw."""
    idle: set[str] = {r.name for f in family.formulations for r in drawn(family, 2, 0, f).linear.rows}
    for level in range(1, len(family.levels) + 1):
        for index in range(draws):
            for formulation in family.formulations:
                instance = drawn(family, level, index, formulation)
                found = label(instance.problem)
                if isinstance(found, Label) and found.point is not None:
                    idle -= set(_binding(instance, found, instance.linear))
            if not idle:
                return
    raise AssertionError(f"rows that never bind: {sorted(idle)}; tighten the data they are declared with")


def _binding(instance: Instance, found: Label, model: Model) -> Iterator[str]:
    problem, point = instance.problem, found.point
    assert point is not None
    A = problem.matrix
    for i, name in enumerate(problem.rows):
        span = slice(A.indptr[i], A.indptr[i + 1])
        activity = sum((Fraction(int(v), problem.matrix_exact.den) * point[int(j)]
                        for v, j in zip(problem.matrix_exact.num[span], A.indices[span], strict=True)), Fraction(0))
        low, high = problem.row_lower[i] > -1e300, problem.row_upper[i] < 1e300
        sides = [s for s, finite in ((problem.row_lower_exact, low), (problem.row_upper_exact, high)) if finite]
        if any(Fraction(int(s.num[i]), s.den) == activity for s in sides):
            yield name.partition("[")[0]


def check_decimals(family: Family) -> None:
    """Data are decimals that print exactly: reading the printed figure gives the datum back."""
    instance = drawn(family, len(family.levels), 7)
    for text in data_numbers(instance):
        assert "/" not in text and len(text) <= 14 and fraction(float(text)) == Fraction(text), f"{instance.id}: {text}"
