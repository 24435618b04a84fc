"""One slot, whole: draw -> ground -> label -> products -> replay -> rows.  Pure in (recipe, slot): any worker, any order.

Every refusal becomes a `rejected` row; the slot then tries its next draw.  A slot that runs out of draws is a refusal too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from orpipe import __version__
from orpipe.build.case import Case, Product, Unmade, exact_text
from orpipe.build.plan import Slot
from orpipe.build.products import make
from orpipe.config import Recipe
from orpipe.errors import DataError, Unsupported
from orpipe.families import Rejected
from orpipe.instances import Instance, draw
from orpipe.mps import write_mps
from orpipe.render.answer import Solution
from orpipe.solve import Label, label
from orpipe.verify.replay import Replayed, Script, replay_many
from orpipe.verify.sandbox import Pool

Row = dict[str, Any]


@dataclass
class Made:
    """The rows of one slot; attempted and accepted count draws; seconds by stage (never written into data files)."""

    number: int
    split: str
    instances: list[Row] = field(default_factory=list)
    sft: list[Row] = field(default_factory=list)
    cpt: list[Row] = field(default_factory=list)
    rejected: list[Row] = field(default_factory=list)
    attempt: int = 0
    attempted: int = 0
    accepted: int = 0
    replayed: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start


def make_slot(recipe: Recipe, slot: Slot, pool: Pool, first: int = 0) -> Made:
    """`first` skips draws (of a slot whose earlier draw repeated another slot's instance)."""
    made = Made(slot.number, slot.split)
    for attempt in range(first, recipe.attempts):
        made.attempt = attempt
        index = slot.index * recipe.attempts + attempt
        made.attempted += 1
        case = _case(recipe, slot, index, made)
        if case is None:
            continue
        products = _products(slot, index, case, pool, made)
        if products is None:
            continue
        made.accepted += 1
        made.instances.append(instance_row(case.instance, case.label, recipe))
        for product in products:
            for extra, extra_label in product.extra_instances:
                made.instances.append(instance_row(extra, extra_label, recipe))
            (made.cpt if product.task == "cpt" else made.sft).append(product_row(case, product))
        return made
    made.rejected.append(_refusal(slot, slot.index * recipe.attempts, "slot", "no draw left",
                                  f"all {recipe.attempts} draws were refused; see the rows of this family, level and seed"))
    return made


def _case(recipe: Recipe, slot: Slot, index: int, made: Made) -> Case | None:
    try:
        with made.timed("sample"):
            instance = draw(slot.family, slot.level, recipe.seed, index)
        with made.timed("ground"):
            problem = instance.problem
    except Rejected as refused:
        made.rejected.append(_refusal(slot, index, "sample", str(refused), ""))
        return None
    except DataError as refused:
        made.rejected.append(_refusal(slot, index, "ground", "data", str(refused)))
        return None
    with made.timed("solve"):
        found = label(problem, nodes=recipe.nodes)
    if not isinstance(found, Label):
        detail = {"detail": found.detail, "results": [r.record() for r in found.results]}
        if found.reason == "disagreement":
            detail["mps"] = write_mps(problem)
        made.rejected.append(_refusal(slot, index, "solve", found.reason, json.dumps(detail)))
        return None
    if found.status != "optimal":
        made.rejected.append(_refusal(slot, index, "solve", f"{found.status} draw", "samplers are feasible by construction"))
        return None
    return Case(instance, found)


def _products(slot: Slot, index: int, case: Case, pool: Pool, made: Made) -> list[Product] | None:
    products = []
    for order in slot.orders:
        try:
            with made.timed("render"):
                product = make(case, order)
        except (Unmade, Unsupported) as refused:
            made.rejected.append(_refusal(slot, index, "render", f"{order.task} not made", str(refused)))
            return None
        products.append(product)
    scripts = [(product, Script(p.text, p.problem, p.objective, p.status, p.files)) for product in products for p in product.programs]
    with made.timed("replay"):
        made.replayed += len(scripts)
        for (product, _), played in zip(scripts, replayed(pool, [s for _, s in scripts]), strict=True):
            if not played.passed:
                made.rejected.append(_refusal(slot, index, "replay", f"{product.task}: {played.stage}", f"{product.order.dialect}: {played.reason}"))
                return None
    return products


def replayed(pool: Pool, scripts: list[Script]) -> list[Replayed]:
    """Replays, each tried again up to twice when the sandbox itself failed: our fault must not decide what is kept."""
    results = replay_many(pool, scripts)
    for _ in range(2):
        again = [k for k, r in enumerate(results) if r.stage == "sandbox"]
        for k, result in zip(again, replay_many(pool, [scripts[k] for k in again]), strict=True):
            results[k] = result
    return results


def _refusal(slot: Slot, index: int, stage: str, reason: str, detail: str) -> Row:
    return {"stage": stage, "reason": reason, "family": slot.family, "level": slot.level, "seed": index, "detail": detail}


def number_json(value: Fraction) -> int | str:
    """Whole numbers as JSON integers, others as exact text ("0.35", "197/3")."""
    return int(value) if value.denominator == 1 else exact_text(value)


def instance_row(instance: Instance, found: Label, recipe: Recipe) -> Row:
    problem = instance.problem
    solution = None
    if found.point is not None:
        values = Solution.of(instance, found.point).values
        solution = {instance.linear.var_by[v].name: {",".join(map(str, k)): number_json(x) for k, x in entries.items() if x}
                    for v, entries in values.items()}
    exact = found.objective_exact
    return {
        "id": instance.id, "family": instance.family.name, "problem_class": instance.family.problem_class, "kind": problem.kind,
        "level": instance.level, "seed": instance.index, "n_vars": problem.n_vars, "n_int": int(problem.integer.sum()),
        "n_bin": int(problem.binary.sum()), "n_rows": problem.n_rows, "n_nonzeros": problem.n_nonzeros,
        "sense": "max" if problem.maximize else "min", "status": found.status, "objective": found.objective,
        "objective_exact": None if exact is None else exact_text(exact), "solution": json.dumps(solution, ensure_ascii=False),
        "data": json.dumps(instance.data, ensure_ascii=False), "mps": write_mps(problem), "structure_hash": instance.structure_hash,
        "data_hash": instance.data_hash, "solvers": json.dumps([r.record() for r in found.results]),
        "source": instance.family.source(), "license": recipe.license, "language": "en", "generator_version": __version__,
    }


def product_row(case: Case, product: Product) -> Row:
    instance, order = case.instance, product.order
    common = {"instance_id": product.instance_id, "family": instance.family.name, "problem_class": instance.family.problem_class,
              "level": instance.level, "dialect": order.dialect if product.programs else "", "interface": order.interface}
    if product.task == "cpt":
        return {"id": f"{product.instance_id}-{product.subtask}", "text": product.text, "doc_type": product.subtask, **common}
    value = product.objective
    return {
        "id": f"{product.instance_id}-{product.task}",
        "messages": [{"role": role, "content": content} for role, content in product.messages],
        "task": product.task, "subtask": product.subtask, **common, "status": product.status,
        "objective": None if value is None else float(value), "objective_exact": None if value is None else exact_text(value),
        "files": json.dumps(product.files, ensure_ascii=False),
        "metadata": json.dumps({"formulation": instance.formulation, **product.metadata}, ensure_ascii=False, sort_keys=True),
    }
