"""A case: an accepted instance with its label, and the texts every product shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from orpipe.algebra.latex import expr_tex, model_tex, name_tex
from orpipe.algebra.nodes import Model, Neg
from orpipe.algebra.text import expr_text, model_text, param_text, row_label, row_text, set_text, signature, var_text
from orpipe.algebra.units import unit_text
from orpipe.build.plan import Order
from orpipe.errors import OrpipeError
from orpipe.exact import decimal_text
from orpipe.instances import Instance
from orpipe.problem import Problem
from orpipe.render.answer import Solution, render_answer
from orpipe.render.files import data_csv, data_json
from orpipe.render.nl import REGISTERS, environment, render_problem
from orpipe.render.words import approximate, listing
from orpipe.resources import templates
from orpipe.solve import Label


class Unmade(OrpipeError):
    """A product cannot be made from this case (no fault that changes the outcome, a text that leaves something unsaid)."""


@dataclass(frozen=True, eq=False)
class Program:
    """A program that stands in a product, and what it must build and find: replayed before the product is kept."""

    text: str
    problem: Problem
    status: str
    objective: float | None
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Product:
    """An SFT example (two or more messages) or a CPT document (text), before replay."""

    task: str
    subtask: str
    order: Order
    instance_id: str
    status: str
    objective: Fraction | None
    messages: tuple[tuple[str, str], ...] = ()
    text: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[Program, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    extra_instances: tuple[Any, ...] = ()


def exact_text(value: Fraction) -> str:
    """«197», «0.35», «197/3»: never rounded."""
    return decimal_text(value) or f"{value.numerator}/{value.denominator}"


def stated_value(value: Fraction, unit: str = "") -> str:
    """«197 EUR/day»; with the exact fraction behind it when there is no finite decimal of reasonable length."""
    short, exact = approximate(value), exact_text(value)
    text = f"{short} {unit}".strip()
    return text if short == exact else f"{text} (exactly {value.numerator}/{value.denominator})"


@dataclass(frozen=True, eq=False)
class Case:
    instance: Instance
    label: Label

    @property
    def model(self) -> Model:
        return self.instance.linear

    @cached_property
    def solution(self) -> Solution:
        if self.label.point is None:
            raise Unmade(f"{self.instance.id} has no optimal point to tell")
        return Solution.of(self.instance, self.label.point)

    @cached_property
    def unit(self) -> str:
        """Unit of the objective in the scenario's words, «EUR/day»."""
        symbolic = self.instance.family.symbolic(self.instance.formulation)
        return self.instance.scenario.unit(unit_text(symbolic.objective.terms[0].expr, symbolic))

    @property
    def optimum(self) -> str:
        if self.label.objective_exact is None:
            raise Unmade(f"{self.instance.id} has no optimum to state")
        return stated_value(self.label.objective_exact, self.unit)

    @property
    def superlative(self) -> str:
        return "least" if self.model.objective.sense == "minimize" else "greatest"

    @cached_property
    def objective_phrase(self) -> str:
        """«cost of keeping depots open plus cost of carriage», «revenue less cost of material»."""
        plus = [t.meaning for t in self.model.objective.terms if not isinstance(t.expr, Neg)]
        minus = [t.meaning for t in self.model.objective.terms if isinstance(t.expr, Neg)]
        if not plus:
            return "minus the " + " plus ".join(minus)
        return " plus ".join(plus) + (" less " + " less ".join(minus) if minus else "")

    @cached_property
    def story(self) -> str:
        return render_answer(self.instance, self.solution)

    def objective_floats(self) -> float | None:
        return self.label.objective

    def program(self, text: str, files: Mapping[str, str] | None = None) -> Program:
        return Program(text, self.instance.problem, self.label.status, self.label.objective, files or {})


@dataclass(frozen=True)
class Asked:
    """A problem text as it goes into a prompt: with file blocks behind it where data are attached."""

    text: str
    files: Mapping[str, str]
    register: str


def ask(instance: Instance, order: Order, kinds: tuple[str, ...] = ("json", "csv")) -> Asked:
    """The problem in the order's interface.  Raises Unmade if the text leaves a part of the model unsaid."""
    interface = order.interface if order.interface != "files" else kinds[order.variant // 3 % len(kinds)]
    register = REGISTERS[order.variant % len(REGISTERS)]
    problem = render_problem(instance, register, interface)  # type: ignore[arg-type]
    if gaps := problem.missing(instance.model):
        raise Unmade(f"{instance.family.name}/{register}/{interface} leaves unsaid: {', '.join(gaps)}")
    files: dict[str, str] = {}
    if interface == "json":
        files = {"data.json": data_json(instance.linear, instance.data)}
    elif interface == "csv":
        files = dict(data_csv(instance.linear, instance.data))
    return Asked(problem.text.strip(), files, register)


def file_blocks(files: Mapping[str, str]) -> str:
    return "\n\n".join(f"**{name}**\n```{name.rpartition('.')[2]}\n{text.rstrip()}\n```" for name, text in files.items())


def wordings(folder: str, prefix: str) -> list[str]:
    """Template names templates/<folder>/<prefix>*.j2, sorted."""
    return sorted(f"{folder}/{p.name}" for p in (templates() / folder).glob(f"{prefix}*.j2"))


def say(folder: str, prefix: str, variant: int, **context: Any) -> str:
    """One of the wordings of a template folder, rendered; `variant` picks which."""
    names = wordings(folder, prefix)
    if not names:
        raise Unmade(f"templates/{folder} has no {prefix}*.j2")
    text = environment().get_template(names[variant % len(names)]).render(**context)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def describe(case: Case) -> dict[str, Any]:
    """The dressed linear model in pieces, as text and LaTeX, for templates."""
    model = case.model
    same = str
    return {
        "model": model,
        "algebra": model_text(model).rstrip(),
        "latex": model_tex(model).rstrip(),
        "sets": [{"text": set_text(s, same), "symbol": s.symbol, "plural": s.plural} for s in model.sets],
        "params": [{"text": param_text(p, same, same), "head": signature(p.symbol, p.indices, p.domain), "meaning": p.meaning,
                    "unit": p.unit, "name": p.name, "tex": _head_tex(p)} for p in model.params],
        "variables": [{"text": var_text(v, same, same), "head": signature(v.symbol, v.indices, v.domain), "meaning": v.meaning,
                       "unit": v.unit, "kind": v.kind, "auxiliary": v.auxiliary, "name": v.name, "tex": _head_tex(v)} for v in model.variables],
        "terms": [{"name": t.name, "text": expr_text(t.expr), "tex": expr_tex(t.expr), "meaning": t.meaning} for t in model.objective.terms],
        "rows": [{"name": r.name, "label": row_label(r), "text": row_text(r), "because": r.because, "origin": r.origin} for r in model.rows],
        "sense": model.objective.sense,
        "superlative": case.superlative,
        "objective_phrase": case.objective_phrase,
        "objective_unit": case.unit,
        "size": size_phrase(case.instance.problem),
    }


def _head_tex(d: Any) -> str:
    return name_tex(d.symbol) + (f"_{{{','.join(k.name for k in d.indices)}}}" if d.indices else "")


def size_phrase(problem: Problem) -> str:
    """«2 binary and 6 continuous variables, 5 constraints»"""
    binary, whole = int(problem.binary.sum()), int(problem.integer.sum()) - int(problem.binary.sum())
    parts = [(binary, "binary"), (whole, "integer"), (problem.n_vars - binary - whole, "continuous")]
    shown = [f"{k} {word}" for k, word in parts if k]
    noun = "variable" if problem.n_vars == 1 else "variables"
    return f"{listing(shown)} {noun}, {problem.n_rows} constraint{'' if problem.n_rows == 1 else 's'}"
