"""A case: an accepted instance with its label, and the texts every product shares."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from orpipe.algebra.latex import expr_tex, model_tex, name_tex, row_tex, set_tex
from orpipe.algebra.nodes import Model, Neg, Row, SetDecl, VarDecl
from orpipe.algebra.text import expr_text, model_text, param_text, row_label, row_text, set_text, signature, var_text
from orpipe.algebra.units import unit_text
from orpipe.build.phrases import columns, counted
from orpipe.build.plan import Order
from orpipe.errors import OrpipeError
from orpipe.exact import decimal_text
from orpipe.instances import Instance
from orpipe.problem import Problem
from orpipe.proof import Facts, Refuted, facts
from orpipe.render.answer import Solution, render_answer
from orpipe.render.files import data_csv, data_json
from orpipe.render.nl import REGISTERS, environment, render_problem
from orpipe.render.words import about, approximate, listing, the, whether
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
    rejected: tuple[tuple[str, str], ...] = ()  # of a preference pair, whose messages end with the chosen answer
    text: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[Program, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    extra_instances: tuple[Any, ...] = ()


def exact_text(value: Fraction) -> str:
    """«197», «0.35», «197/3»: never rounded."""
    return decimal_text(value) or f"{value.numerator}/{value.denominator}"


@dataclass(frozen=True, eq=False)
class Case:
    """proof_nodes bounds the proofs behind `facts`; 0 proves what needs no search."""

    instance: Instance
    label: Label
    proof_nodes: int = 0

    @cached_property
    def facts(self) -> Facts | Refuted:
        """More truth about the label, or that it is wrong."""
        return facts(self.instance.problem, self.label, self.proof_nodes)

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

    def worth(self, value: Fraction) -> str:
        """A value of the objective, to a relative 1e-9: «197 EUR/day», «1 minute»."""
        return counted(approximate(value), self.unit, self.instance.scenario)

    def roughly(self, value: Fraction) -> str:
        """A difference of such values, in six digits: «about 0.0805225 kUSD»."""
        return counted(about(value), self.unit, self.instance.scenario)

    def worth_exactly(self, value: Fraction) -> str:
        """The same, with the fraction behind it where there is no finite decimal, or a remark that it is rounded where that is long."""
        if approximate(value) == exact_text(value):
            return self.worth(value)
        fraction_text = f"{value.numerator}/{value.denominator}"
        return f"{self.worth(value)} ({f'exactly {fraction_text}' if len(fraction_text) <= 16 else 'rounded'})"

    @cached_property
    def _best(self) -> Fraction:
        if self.label.objective_exact is None:
            raise Unmade(f"{self.instance.id} has no optimum to state")
        return self.label.objective_exact

    @property
    def optimum(self) -> str:
        """«197 EUR/day», exact."""
        return self.worth_exactly(self._best)

    @property
    def value(self) -> str:
        """The optimum without the fraction behind it."""
        return self.worth(self._best)

    @cached_property
    def columns(self) -> list[tuple[VarDecl, tuple]]:
        return columns(self.instance)

    @property
    def superlative(self) -> str:
        return "least" if self.model.objective.sense == "minimize" else "greatest"

    @cached_property
    def objective_phrase(self) -> str:
        """«the cost of keeping depots open plus the cost of carriage», «the revenue less the cost of material»."""
        plus = [the(t.meaning) for t in self.model.objective.terms if not isinstance(t.expr, Neg)]
        minus = [the(t.meaning) for t in self.model.objective.terms if isinstance(t.expr, Neg)]
        if not plus:
            return "minus " + " minus ".join(minus)
        return " plus ".join(plus) + (" less " + " less ".join(minus) if minus else "")

    @cached_property
    def story(self) -> str:
        return render_answer(self.instance, self.solution)

    def program(self, text: str, files: Mapping[str, str] | None = None) -> Program:
        return Program(text, self.instance.problem, self.label.status, self.label.objective, files or {})


@dataclass(frozen=True)
class Asked:
    """A problem text as it goes into a prompt: with file blocks behind it where data are attached."""

    text: str
    files: Mapping[str, str]
    register: str
    source: str  # where a program finds the data: inline, json or csv


def ask(instance: Instance, order: Order) -> Asked:
    """The problem in the order's interface.  Raises Unmade if the text leaves a part of the model unsaid."""
    interface = order.interface if order.interface != "files" else file_kind(order)
    register = REGISTERS[order.variant % len(REGISTERS)]
    problem = render_problem(instance, register, interface, pick(order.variant, "wording", 2**16))  # type: ignore[arg-type]
    if gaps := problem.missing(instance.model):
        raise Unmade(f"{instance.family.name}/{register}/{interface} leaves unsaid: {', '.join(gaps)}")
    files = attached(instance, interface)
    return Asked(problem.text.strip(), files, register, interface if files else "inline")


def attached(instance: Instance, kind: str) -> dict[str, str]:
    """The data files of an instance, name -> text; none for the interfaces text and tables."""
    if kind == "json":
        return {"data.json": data_json(instance.linear, instance.data)}
    return dict(data_csv(instance.linear, instance.data)) if kind == "csv" else {}


def file_kind(order: Order) -> str:
    """What attached files are: data.json or csv tables."""
    return ("json", "csv")[order.variant // 3 % 2]


def file_blocks(files: Mapping[str, str]) -> str:
    return "\n\n".join(f"**{name}**\n```{name.rpartition('.')[2]}\n{text.rstrip()}\n```" for name, text in files.items())


def wordings(folder: str, prefix: str) -> list[str]:
    """Template names templates/<folder>/<prefix>*.j2, sorted."""
    return sorted(f"{folder}/{p.name}" for p in (templates() / folder).glob(f"{prefix}*.j2"))


def pick(variant: int, key: str, count: int) -> int:
    """A number below `count`; the picks of one variant for different keys are unrelated."""
    return int.from_bytes(hashlib.sha256(f"{key}/{variant}".encode()).digest()[:8], "big") % count


def say(folder: str, prefix: str, variant: int, **context: Any) -> str:
    """One of the wordings of a template folder, rendered; `variant` picks which."""
    names = wordings(folder, prefix)
    if not names:
        raise Unmade(f"templates/{folder} has no {prefix}*.j2")
    return tidy_markdown(environment().get_template(names[pick(variant, f"{folder}/{prefix}", len(names))]).render(**context))


def tidy_markdown(text: str) -> str:
    """No trailing spaces; outside code fences never more than one blank line."""
    lines: list[str] = []
    fenced = False
    for line in text.strip().splitlines():
        line = line.rstrip()
        fenced ^= line.startswith("```")
        if line or fenced or lines[-1]:
            lines.append(line)
    return "\n".join(lines)


def describe(case: Case) -> dict[str, Any]:
    """The dressed linear model in pieces, as text and LaTeX, for templates."""
    model = case.model
    same = str
    return {
        "model": model,
        "algebra": model_text(model).rstrip(),
        "latex": model_tex(model).rstrip(),
        "sets": [{"text": set_text(s, same), "symbol": s.symbol, "plural": s.plural, "tex": set_tex(s), "note": _order(s)} for s in model.sets],
        "params": [{"text": param_text(p, same, same), "head": signature(p.symbol, p.indices, p.domain), "meaning": p.meaning,
                    "unit": _unit(p.unit), "name": p.name, "tex": _head_tex(p), "symbol": p.symbol, "the": the(p.meaning)} for p in model.params],
        "variables": [{"text": var_text(v, same, same), "head": signature(v.symbol, v.indices, v.domain), "meaning": v.meaning,
                       "unit": _unit(v.unit), "kind": v.kind, "auxiliary": v.auxiliary, "name": v.name, "tex": _head_tex(v),
                       "symbol": v.symbol, "choice": whether(v.meaning), "the": _what(v.meaning)} for v in model.variables],
        "terms": [{"name": t.name, "text": expr_text(t.expr), "tex": expr_tex(t.expr), "meaning": the(t.meaning)} for t in model.objective.terms],
        "rows": [{"name": r.name, "label": row_label(r), "text": row_text(r), "because": r.because, "tex": row_tex(r)} for r in model.rows],
        "rules": rules(model.rows),
        "sense": model.objective.sense,
        "superlative": case.superlative,
        "objective_phrase": case.objective_phrase,
        "objective_unit": case.unit,
        "size": size_phrase(case.instance.problem),
    }


def _unit(unit: str) -> str:
    return "" if unit == "1" else unit


def _what(meaning: str) -> str:
    """After «is»: «the amount shipped», «1 if depot i is open and 0 otherwise»."""
    return meaning.replace(", 0 ", " and 0 ") if meaning.startswith("1 if ") else the(meaning)


def _head_tex(d: Any) -> str:
    return name_tex(d.symbol) + (f"_{{{','.join(k.name for k in d.indices)}}}" if d.indices else "")


def _order(s: SetDecl) -> str:
    """What the letters of a set need to be known for indices such as t-1: «, in order», «, numbered from 1»."""
    if s.over or not (s.ordered or s.numbered or s.cyclic):
        return ""
    return ", in this order and then from the start again" if s.cyclic else ", numbered 1, 2, ... in order" if s.numbered else ", in order"


def rules(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The sentences behind rows, each once, with the rows that it is written as: labels, names, formulas in text and LaTeX,
    «`swings_above[s]` and `swings_below[s]`»."""
    found: dict[str, list[Row]] = {}
    for r in rows:
        found.setdefault(r.because, []).append(r)
    return [{
        "because": because, "several": len(group) > 1, "labels": listing([f"`{row_label(r)}`" for r in group]),
        "names": listing([f"`{r.name}`" for r in group]), "texts": listing([f"`{row_text(r)}`" for r in group]),
        "texs": listing([f"${row_tex(r)}$" for r in group]),
        "words": listing(list(dict.fromkeys((r.origin or r.name).replace("_", " ") for r in group))),
    } for because, group in found.items()]


def size_phrase(problem: Problem) -> str:
    """«6 binary variables and 6 constraints», «2 binary and 6 continuous variables, and 5 constraints»"""
    binary, whole = int(problem.binary.sum()), int(problem.integer.sum()) - int(problem.binary.sum())
    parts = [(binary, "binary"), (whole, "integer"), (problem.n_vars - binary - whole, "continuous")]
    shown = [f"{k} {word}" for k, word in parts if k]
    noun = "variable" if problem.n_vars == 1 else "variables"
    rows = f"{problem.n_rows} constraint{'' if problem.n_rows == 1 else 's'}"
    return f"{listing(shown)} {noun}{', and' if len(shown) > 1 else ' and'} {rows}"
