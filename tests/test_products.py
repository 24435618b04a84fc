"""What users read: every wording of every product, over all families, by mechanical copy editing (orpipe.testing.prose)."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from fractions import Fraction

import pytest

from orpipe.build import gates
from orpipe.build.case import Case, Unmade, pick, say, tidy_markdown, wordings
from orpipe.build.evidence import symptom
from orpipe.build.infeasible import tighten
from orpipe.build.plan import Order
from orpipe.build.products import make
from orpipe.build.products.cpt import DOC_TYPES
from orpipe.build.products.diagnose import Faulty, changes, doubt, right_value
from orpipe.build.products.implement import plain_data
from orpipe.build.products.solve import impossible
from orpipe.families import families
from orpipe.ground import ground
from orpipe.instances import draw
from orpipe.mutate import mutants
from orpipe.render.answer import Solution, render_answer
from orpipe.render.dialects import dialects
from orpipe.render.nl import environment
from orpipe.render.words import about, the, whether
from orpipe.solve import Label, label
from orpipe.testing.prose import flaws, prose

NAMES = families.names()
MODULES = ("formulate", "implement", "solve", "diagnose", "cpt")
FOLDERS = {
    "sft/formulate": {"ask": 6, "answer_algebra": 3, "answer_latex": 3}, "sft/implement": {"ask": 6, "answer": 3},
    "sft/solve": {"ask": 6, "answer": 3, "none": 3},
    "sft/diagnose": {f"{kind}_{sub}": least for sub in ("faulty_program", "faulty_model", "infeasible_data", "unfounded_doubt")
                     for kind, least in (("ask", 6), ("answer", 3))},
    "cpt": dict.fromkeys(DOC_TYPES, 3),
}


@pytest.fixture(scope="module")
def told():
    """Every text of the run, by task: (family, template, text)."""
    return []


@pytest.fixture
def every_wording(monkeypatch, told):
    """Makes `say` render all wordings of a template in the context at hand; the product gets the first."""
    def spy(folder, prefix, variant, **context):
        names = wordings(folder, prefix)
        texts = [tidy_markdown(environment().get_template(name).render(**context)) for name in names]
        told.extend((name, text) for name, text in zip(names, texts, strict=True))
        return texts[variant % len(texts)]

    for module in MODULES:
        monkeypatch.setattr(importlib.import_module(f"orpipe.build.products.{module}"), "say", spy)


def case_of(name: str, index: int = 0) -> Case:
    """A labelled draw of the first or second level."""
    instance = draw(name, 1 + index % 2, 3, index)
    found = label(instance.problem, nodes=100_000)
    assert isinstance(found, Label) and found.status == "optimal"
    return Case(instance, found, proof_nodes=200)


def test_enough_wordings():
    for folder, least in FOLDERS.items():
        for prefix, count in least.items():
            assert len(wordings(folder, prefix)) >= count, f"{folder}/{prefix}"


def test_openings_differ():
    """No two prompts, answers or documents of one kind begin with the same words."""
    for folder, prefixes in FOLDERS.items():
        for prefix in prefixes:
            heads = Counter()
            for name in wordings(folder, prefix):
                source = environment().loader.get_source(environment(), name)[0]
                plain = " ".join(re.sub(r"\{%.*?%\}", "", source).split())
                heads[plain.removeprefix("{{ problem }} {{ files }} ")[:60]] += 1
            assert max(heads.values()) == 1, f"{folder}/{prefix}: {heads.most_common(1)}"


@pytest.mark.parametrize("name", NAMES)
def test_every_wording_in_every_family(name, every_wording, told):
    place = NAMES.index(name)
    case = case_of(name, place)
    interfaces, libraries = ("text", "tables", "files"), sorted(dialects())
    # formulate deals its subtasks by variant // 6, implement by variant // 2, diagnose by variant % 4, CPT by variant % 5
    orders = [("formulate", 0), ("formulate", 6), ("implement", 0), ("implement", 3), ("solve", 1), *(("diagnose", k) for k in range(4)),
              *(("cpt", k) for k in range(len(DOC_TYPES)))]
    subtasks = set()
    for k, (task, variant) in enumerate(orders):
        told.clear()
        try:
            product = make(case, Order(task, interfaces[(k + place) % 3], libraries[(k + place) % len(libraries)], variant))
        except Unmade as error:
            pytest.fail(f"{name}/{task}: {error}")
        subtasks.add(product.subtask)
        assert told
        for template, text in told:
            assert not (found := flaws(text)), f"{name}, {template}: {found}\n{text[:3000]}"
            assert len(prose(text).split()) >= 8 or "```" in text, f"{name}, {template}: {text}"
        if task in gates.PROMPTS_WITHOUT_ANSWER:
            for template, text in told:
                if "/ask" in template:
                    given = gates.data_numbers(case.instance.data)
                    assert not (leak := gates.leak(text, case.label.objective_exact, given)), f"{name}, {template}: {leak}"
                elif task == "solve":
                    assert gates.states(text, case.label.objective_exact), f"{name}, {template} does not state the optimum"
    assert {"faulty-program", "faulty-model", "unfounded-doubt", "algebra", "latex", "from-algebra", "from-latex"} <= subtasks


@pytest.mark.parametrize("name", ["bin_packing", "transportation", "lot_sizing_capacitated"])
def test_every_wording_of_problems_without_a_plan(name, every_wording, told):
    case = case_of(name, 1)
    for variant in range(8):
        tight = tighten(case, variant)
        if tight is not None and (tight.least is not None or name != "transportation"):
            break
    told.clear()
    product = impossible(case, Order("solve", "text", "pulp", 0), tight)
    assert (product.subtask, product.status, product.objective) == ("infeasible", "infeasible", None) and len(told) >= 9
    for template, text in told:
        assert not (found := flaws(text)), f"{name}, {template}: {found}\n{text[:3000]}"
        if "/none" in template:
            assert all(f"`{row}`" in text for row in tight.conflict)
            assert tight.least is None or str(product.metadata["least"]) in text


def test_every_wording_of_the_same_number_from_a_wrong_model(every_wording, told):
    told.clear()
    for index in (1, 2):
        product = right_value(case_of("bin_packing", index), Order("diagnose", "tables", "", index))
        assert product.subtask == "right-value"
    assert len(told) == 14
    for template, text in told:
        assert not (found := flaws(text)), f"{template}: {found}\n{text[:3000]}"


def test_a_reviewer_proposes_nothing_that_needs_a_second_piece(monkeypatch):
    """A penalty or a worst case has a new variable, which a prompt that shows one row cannot declare."""
    case = case_of("knapsack")
    several = [m for m in mutants(case.model) if m.part.more]
    assert {m.operator.id for m in several} >= {"limit-as-penalty", "max-for-sum"}
    faults = [Faulty(m, p := ground(m.model, case.instance.data), label(p)) for m in several]
    monkeypatch.setattr("orpipe.build.products.diagnose.faulty", lambda case, order: iter(faults))
    with pytest.raises(Unmade, match="no proposal"):
        doubt(case, Order("diagnose", "text", "", 3))


def test_only_the_value_of_an_optimal_plan_is_doubted():
    """Where a fault changes the value and not the plan, nobody may claim to know a better plan."""
    case = case_of("tsp")
    fault = next(m for m in mutants(case.model) if m.operator.id == "unit-scale-off" and m.part.kind == "objective")
    problem = ground(fault.model, case.instance.data)
    said = symptom(case, problem, label(problem))
    assert said is not None and "another value" in said.text and "better" not in said.text


@pytest.mark.parametrize("name", ["knapsack", "set_covering"])
def test_plans_that_choose_all_or_nothing(name):
    """A mis-modelling may do either, and then there are no others to be left out."""
    instance = draw(name, 1, 3, 0)
    told = {v: render_answer(instance, Solution.of(instance, [Fraction(v)] * instance.problem.n_vars)) for v in (0, 1)}
    assert "none of the" in told[0] and "other" not in told[0]
    assert "none" not in told[1] and "other" not in told[1]


def test_elements_of_a_subset_have_no_parentheses():
    text = plain_data(case_of("diet"))
    assert re.search(r"^U = \{\w[^()]*\}$", text, re.M), text


def test_prompts_spread_over_wordings():
    names = wordings("sft/solve", "ask")
    drawn = Counter(pick(variant, "sft/solve/ask", len(names)) for variant in range(700))
    assert set(drawn) == set(range(len(names))) and max(drawn.values()) < 2 * 700 / len(names)


def test_a_missing_folder_is_named():
    with pytest.raises(Unmade, match="no nothing"):
        say("sft/solve", "nothing", 0)


@pytest.mark.parametrize(("text", "flaw"), [
    ("We ship 1 pallets to Alder.", "one with a plural"), ("It costs 5 EUR EUR.", "a word twice"), ("Take a order.", "«a» before a vowel"),
    ("Take the a depot.", "two articles"), ("10 t/day a day.", "a period twice"),
    ("## Model\n\n## Result\n\nText.", "a heading with nothing under it"),
    ("- one\n\n- two", "a blank line inside a list"), ("It is {{ x }}.", "a brace in prose"), ("for all (n) in L", "a tuple of one"),
    ("```python\nx =\n```", "a program does not compile"), ("The cost is $c_{i.$", "a formula is not balanced"),
    ("Done. and more.", "a small letter"),
    ("It is 354.123456789012345 EUR.", "more digits than are certain"), ("Text\n| a |\n| --- |", "no blank line before a table"),
])
def test_flaws_are_seen(text, flaw):
    assert any(found.startswith(flaw) for found in flaws(text)), flaws(text)


def test_clean_text_has_no_flaws():
    assert flaws("# Title\n\nSend 1 pallet and 24 pallets.\n\n- `x[i] >= 0`: amount\n- $x_{i} \\in I$\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n") == []


def test_numbers_and_noun_phrases():
    from fractions import Fraction

    assert [about(x) for x in (Fraction(12), Fraction(635_9375, 10_000), Fraction(16, 3), Fraction(1, 3000), Fraction(10**9, 7))] == [
        "12", "635.9375", "about 5.33333", "about 0.000333333", "about 142857143"]
    assert the("cost of carriage") == "the cost of carriage" and the("weekly wages") == "the weekly wages" and the("the bill") == "the bill"
    assert whether("1 if depot i is open, 0 if it is closed") == "whether depot i is open"
    assert changes("a\nb\nc", "a\nB\nc") == "-b\n+B" and changes("a", "a") is None
