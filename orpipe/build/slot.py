"""One slot, whole: draw -> ground -> label -> products -> gates -> replay -> proof -> rows.  Pure in (recipe, slot): any worker, any order.

Every refusal becomes a `rejected` row; the slot then tries its next draw.  A slot that runs out of draws is a refusal too.
A fault of ours in one draw is a refusal with the place where it happened, and counted; a machine that fails (disk, sandbox)
ends the run instead, because what is kept must not depend on it.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from orpipe import __version__
from orpipe.build import gates, quarantine
from orpipe.build.case import Case, Product, Unmade, exact_text
from orpipe.build.plan import Slot
from orpipe.build.products import make
from orpipe.config import Recipe
from orpipe.disagreements import overheard
from orpipe.errors import DataError, EnvironmentError_, Unsupported
from orpipe.families import Rejected
from orpipe.instances import Instance, draw
from orpipe.mps import write_mps
from orpipe.proof import Facts, Refuted, facts
from orpipe.render.answer import Solution
from orpipe.solve import Label, label
from orpipe.suites import Discrimination, Shelf, discrimination
from orpipe.verify.replay import Replayed, Script, replay_many
from orpipe.verify.sandbox import Pool

Row = dict[str, Any]

# A net for solves that hang: the node limit of the recipe decides, long before, and does not depend on the machine.
_SECONDS = 600.0


@dataclass
class Made:
    """The rows of one slot; attempted, accepted and faults (of ours) count draws; seconds by stage, never written into data."""

    number: int
    split: str
    instances: list[Row] = field(default_factory=list)
    sft: list[Row] = field(default_factory=list)
    cpt: list[Row] = field(default_factory=list)
    preference: list[Row] = field(default_factory=list)
    rejected: list[Row] = field(default_factory=list)
    attempt: int = 0
    attempted: int = 0
    accepted: int = 0
    replayed: int = 0
    faults: int = 0
    stage: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        start, self.stage = time.perf_counter(), stage
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start


def make_slot(recipe: Recipe, slot: Slot, pool: Pool, first: int = 0, shelf: Shelf | None = None) -> Made:
    """`first` skips draws (of a slot whose earlier draw repeated another slot's instance).  shelf: where suites are kept, by
    default in this process alone.  Raises EnvironmentError_ or
    OSError where the machine fails."""
    made = Made(slot.number, slot.split)
    shelf = shelf or Shelf(None, recipe.seed, recipe.proof_nodes)
    for attempt in range(first, recipe.attempts):
        made.attempt = attempt
        index = slot.index * recipe.attempts + attempt
        made.attempted += 1
        try:
            done = _draw(recipe, slot, index, pool, made, shelf)
        except (EnvironmentError_, OSError, MemoryError):
            raise
        except Exception as fault:
            made.faults += 1
            made.rejected.append(_refusal(slot, index, made.stage, f"internal error: {type(fault).__name__}", _where(fault)))
            continue
        if done:
            made.accepted += 1
            return made
    made.rejected.append(_refusal(slot, slot.index * recipe.attempts, "slot", "no draw left",
                                  f"all {recipe.attempts} draws were refused; see the rows of this family, level and seed"))
    return made


def _draw(recipe: Recipe, slot: Slot, index: int, pool: Pool, made: Made, shelf: Shelf) -> bool:
    """Rows of one draw, added only when all of them stand."""
    case = _case(recipe, slot, index, made)
    if case is None:
        return False
    with overheard(f"derived from {case.instance.id}") as clashes:
        try:
            return _made(recipe, slot, index, case, pool, made, shelf)
        finally:
            made.rejected += [_refusal(slot, index, quarantine.DERIVED, quarantine.REASON, told)
                              for told in quarantine.details(case.instance.id, clashes)]


def _made(recipe: Recipe, slot: Slot, index: int, case: Case, pool: Pool, made: Made, shelf: Shelf) -> bool:
    """The rows of a labelled draw."""
    with made.timed("proof"):
        _ = case.facts  # which texts tell; a refuted label makes none
    products = [] if isinstance(case.facts, Refuted) else _products(recipe, slot, index, case, pool, made)
    if products is None:
        return False
    found = [(case.instance, case.label), *(extra for product in products for extra in product.extra_instances)]
    with made.timed("proof"):
        known = []
        for instance, proved in found:
            more = case.facts if proved is case.label else facts(instance.problem, proved, recipe.proof_nodes)
            if isinstance(more, Refuted):
                why = quarantine.detail(instance.id, instance.problem, more.reason, proved.results)
                made.rejected.append(_refusal(slot, index, "proof", quarantine.REASON, why))
                return False
            known.append(more)
    with made.timed("suite"):
        told = [discrimination(i, proved, shelf.suite(i.family, i.formulation), iis=more.iis) if recipe.suites else None
                for (i, proved), more in zip(found, known, strict=True)]
    with made.timed("rows"):
        try:
            instances = [instance_row(i, proved, more, share, recipe) for (i, proved), more, share in zip(found, known, told, strict=True)]
        except Unsupported as refused:
            made.rejected.append(_refusal(slot, index, "rows", "not exact as MPS", str(refused)))
            return False
        rows = [(product.task, product_row(case, product)) for product in products]
    made.instances = instances
    made.cpt = [row for task, row in rows if task == "cpt"]
    made.sft = [row for task, row in rows if task not in ("cpt", "preference")]
    made.preference = [row for task, row in rows if task == "preference"]
    return True


def _where(fault: Exception) -> str:
    """«KeyError: 'x' (nl.py:120 < case.py:133)»: no folder of this machine."""
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(traceback.extract_tb(fault.__traceback__))]
    return f"{type(fault).__name__}: {fault} ({' < '.join(places[:4])})"


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
        found = label(problem, time_limit=_SECONDS, nodes=recipe.nodes)
    if not isinstance(found, Label):
        told = json.dumps({"detail": found.detail, "results": [r.record() for r in found.results]})
        if found.reason == quarantine.REASON:
            told = quarantine.detail(instance.id, problem, found.detail, found.results)
        made.rejected.append(_refusal(slot, index, "solve", found.reason, told))
        return None
    if found.status != "optimal":
        made.rejected.append(_refusal(slot, index, "solve", f"{found.status} draw", "samplers are feasible by construction"))
        return None
    return Case(instance, found, recipe.proof_nodes)


def _products(recipe: Recipe, slot: Slot, index: int, case: Case, pool: Pool, made: Made) -> list[Product] | None:
    products = []
    for order in slot.orders:
        try:
            with made.timed("render"):
                product = make(case, order)
        except (Unmade, Unsupported) as refused:
            made.rejected.append(_refusal(slot, index, "render", f"{order.task} not made", str(refused)))
            return None
        with made.timed("gate"):
            if reason := gates.refusal(case, product, recipe.longest):
                made.rejected.append(_refusal(slot, index, "gate", f"{product.task}: {reason}", product.order.interface))
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
    """Replays, each tried again up to twice when the sandbox itself failed.  Raises EnvironmentError_ if it keeps failing:
    our fault must not decide what is kept."""
    results = replay_many(pool, scripts)
    for _ in range(2):
        again = [k for k, r in enumerate(results) if r.stage == "sandbox"]
        if not again:
            return results
        for k, result in zip(again, replay_many(pool, [scripts[k] for k in again]), strict=True):
            results[k] = result
    if trouble := next((r.reason for r in results if r.stage == "sandbox"), None):
        raise EnvironmentError_(f"the sandbox does not run programs here: {trouble}; see 'orpipe doctor', then run the same command again")
    return results


def _refusal(slot: Slot, index: int, stage: str, reason: str, detail: str) -> Row:
    return {"stage": stage, "reason": reason, "family": slot.family, "level": slot.level, "seed": index, "detail": detail}


def number_json(value: Fraction) -> int | str:
    """Whole numbers as JSON integers, others as exact text ("0.35", "197/3")."""
    return int(value) if value.denominator == 1 else exact_text(value)


def instance_row(instance: Instance, found: Label, known: Facts, told: Discrimination | None, recipe: Recipe) -> Row:
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
        "certificate": known.certificate, "unique": known.unique, "binding": known.binding, "duals": known.duals, "iis": known.iis,
        "discrimination_headline": None if told is None else told.headline, "discrimination_suite": None if told is None else told.suite,
        "survivors": None if told is None else json.dumps(told.survivors),
    }


def product_row(case: Case, product: Product) -> Row:
    instance, order = case.instance, product.order
    common = {"instance_id": product.instance_id, "family": instance.family.name, "problem_class": instance.family.problem_class,
              "level": instance.level, "dialect": order.dialect if product.programs else "", "interface": order.interface}
    if product.task == "cpt":
        return {"id": f"{product.instance_id}-{product.subtask}", "text": product.text, "doc_type": product.subtask, **common}
    value = product.objective
    if product.task == "preference":
        *prompt, chosen = product.messages
        meta = dict(product.metadata)
        told = {name: meta.pop(name) for name in ("operator", "reason", "rejected_status", "rejected_objective_exact")}
        return {
            "id": f"{product.instance_id}-preference", **told, **common,
            **{name: [{"role": role, "content": content} for role, content in part]
               for name, part in (("prompt", prompt), ("chosen", [chosen]), ("rejected", product.rejected))},
            "status": product.status, "objective": None if value is None else float(value),
            "objective_exact": None if value is None else exact_text(value), "files": json.dumps(product.files, ensure_ascii=False),
            "metadata": json.dumps({"formulation": instance.formulation, **meta}, ensure_ascii=False, sort_keys=True),
        }
    return {
        "id": f"{product.instance_id}-{product.task}",
        "messages": [{"role": role, "content": content} for role, content in product.messages],
        "task": product.task, "subtask": product.subtask, **common, "status": product.status,
        "objective": None if value is None else float(value), "objective_exact": None if value is None else exact_text(value),
        "files": json.dumps(product.files, ensure_ascii=False),
        "metadata": json.dumps({"formulation": instance.formulation, **product.metadata}, ensure_ascii=False, sort_keys=True),
    }
