"""diagnose: a faulty program or model, an infeasible instance, or a doubt that turns out unfounded -> fault, why, repair.

A fault is kept only if it changes the outcome on this instance (labelled, not assumed); the repair is the model itself,
replayed; an infeasible variant comes with an irreducible conflict and, where one entry is at fault, its least change.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from orpipe.algebra.latex import model_tex
from orpipe.algebra.nodes import Objective, Row, Term, VarDecl
from orpipe.algebra.text import expr_text, model_text, row_label, row_text, var_text
from orpipe.build.case import Case, Product, Program, Unmade, ask, describe, exact_text, file_blocks, pick, say
from orpipe.build.claims import Claim, records
from orpipe.build.clash import clash, clash_record
from orpipe.build.effects import conflict, extra, growth, shared
from orpipe.build.evidence import consequence, symptom
from orpipe.build.infeasible import tighten
from orpipe.build.plan import Order
from orpipe.build.products import product
from orpipe.build.products.implement import STYLES
from orpipe.disagreements import about
from orpipe.errors import DataError, ModelError, Unsupported
from orpipe.ground import ground
from orpipe.instances import stream
from orpipe.mutate import Mutant, instance_mutants, mutants
from orpipe.problem import Problem
from orpipe.render.dialects import dialects
from orpipe.render.emit import emit
from orpipe.render.words import the, whether
from orpipe.solve import Label, label

SUBTASKS = ("faulty-program", "faulty-model", "infeasible-data", "unfounded-doubt")
_NODES = 20_000
_TRIES = 12
_LUCKY = 8


@dataclass(frozen=True, eq=False)
class Faulty:
    """A mutant whose outcome differs from the label on this instance."""

    mutant: Mutant
    problem: Problem
    label: Label

    def claims(self, case: Case, variant: int | None, which: str) -> list[Claim]:
        """What the fault comes to on this instance, each claim exact; without a variant, what the plan at hand shows."""
        model, problem, found = self.mutant.model, self.problem, self.label
        made: list[Claim | None] = []
        if variant is not None and found.status == "infeasible":
            made += conflict(case, model, problem, found, which)
        if variant is not None and found.status == "unbounded":
            made.append(growth(case, problem, found, which))
        if not any(made):
            made.append(consequence(case, problem, found, which))
        if variant is not None and found.status == "optimal":
            made.append(extra(case, model, problem, found, variant, which))
        return [c for c in made if c is not None]

    def report(self, case: Case) -> str:
        """«248 EUR/day», «infeasible», «unbounded»"""
        return case.worth(self.label.objective_exact) if self.label.objective_exact is not None else self.label.status


def faulty(case: Case, order: Order, tries: int = _TRIES, shows: Callable[[Case, Problem, Label], bool] | None = None,
           inline: bool = False) -> Iterator[Faulty]:
    """Mutants that really change the outcome (or do what `shows` asks), in an order drawn for this case.  inline: the data stand in the
    program, where a number may be mistyped."""
    shows = shows or (lambda case, problem, found: differs(case.label, found))
    found = mutants(case.model)
    if inline:
        found += instance_mutants(case.model, case.instance.data, None, stream(0, "slip", case.instance.id, order.variant))
    turn = stream(0, "mutant", case.instance.id, order.task, order.variant).permutation(len(found))
    # one operator has many sites: take operators in turn so that the frequent ones do not crowd out the rest
    seen: dict[str, int] = {}
    ranked: list[tuple[int, int, Mutant]] = []
    for k in turn:
        operator = found[int(k)].operator.id
        seen[operator] = seen.get(operator, 0) + 1
        ranked.append((seen[operator], len(ranked), found[int(k)]))
    for _, _, mutant in sorted(ranked, key=lambda r: r[:2])[:tries]:
        try:
            problem = ground(mutant.model, mutant.given(case.instance.data))
        except (DataError, ModelError):
            continue
        with about(f"with {mutant}"):
            result = label(problem, nodes=_NODES)
        if isinstance(result, Label) and shows(case, problem, result):
            yield Faulty(mutant, problem, result)


def differs(right: Label, other: Label) -> bool:
    """A different status, or optima more than 1e-6 (relative) apart."""
    if right.status != other.status:
        return True
    if right.objective_exact is None or other.objective_exact is None:
        return False
    return abs(right.objective_exact - other.objective_exact) * 10**6 > max(Fraction(1), abs(right.objective_exact))


@product("diagnose")
def diagnose(case: Case, order: Order) -> Product:
    makers: dict[str, Callable[[Case, Order], Product]] = {
        "faulty-program": faulty_program, "faulty-model": faulty_model, "infeasible-data": infeasible_data, "unfounded-doubt": doubt,
        "right-value": right_value,
    }
    # infeasible data are not to be had for every family: the next kind takes the turn, the column says which it was
    start = order.variant % len(SUBTASKS)
    reasons = []
    first = ("right-value",) if SUBTASKS[start] == "faulty-model" and not pick(order.variant, "right value", 3) else ()
    for name in (*first, *SUBTASKS[start:], *SUBTASKS[:start]):
        try:
            return makers[name](case, order)
        except (Unmade, Unsupported) as error:
            reasons.append(f"{name}: {error}")
    raise Unmade("; ".join(reasons))


def _finish(case: Case, order: Order, subtask: str, context: dict[str, Any], files: dict[str, str] | Any, programs: tuple[Program, ...],
            metadata: dict[str, Any], **changes: Any) -> Product:
    folder = "sft/diagnose"
    prompt = say(folder, f"ask_{subtask.replace('-', '_')}", order.variant, **context)
    answer = say(folder, f"answer_{subtask.replace('-', '_')}", order.variant, **context)
    told_ = [c for c in context.get("claims", ()) if c.text in prompt or c.text in answer]
    if told_:
        metadata = metadata | {"claims": records(told_)}
    fields = {"instance_id": case.instance.id, "status": case.label.status, "objective": case.label.objective_exact, **changes}
    return Product("diagnose", subtask, order, messages=(("user", prompt), ("assistant", answer)), files=files, programs=programs,
                   metadata={"scenario": case.instance.scenario.id, **metadata}, **fields)


def faulty_program(case: Case, order: Order) -> Product:
    asked = ask(case.instance, order)
    source, style = asked.source, STYLES[order.variant // 2 % 2]
    for fault in faulty(case, order, inline=source == "inline"):
        if fault.label.status == "unbounded" and fault.problem.integer.any():
            continue  # SCIP may never end on an unbounded integer program, and a program that hangs teaches nothing
        try:
            wrong = emit(fault.mutant.model, fault.mutant.given(case.instance.data), order.dialect, source=source, style=style).rstrip()
        except (Unsupported, DataError):
            continue
        right = emit(case.model, case.instance.data, order.dialect, source=source, style=style).rstrip()
        context = describe(case) | told(case, fault, names=True, variant=order.variant) | {
            "problem": asked.text, "files": file_blocks(asked.files), "wrong": wrong, "program": right, "optimum": case.optimum,
            "library": dialects()[order.dialect].title, "story": case.story, "changes": changes(wrong, right),
        }
        programs = (Program(wrong, fault.problem, fault.label.status, fault.label.objective, asked.files), case.program(right, asked.files))
        return _finish(case, order, "faulty-program", context, asked.files, programs, _fault_record(fault) | {"register": asked.register})
    raise Unmade("no mis-modelling changes the outcome here")


def faulty_model(case: Case, order: Order) -> Product:
    asked = ask(case.instance, order)
    form = ("algebra", "latex")[order.variant // 4 % 2]
    for fault in faulty(case, order):
        wrong = model_text(fault.mutant.model).rstrip() if form == "algebra" else model_tex(fault.mutant.model).rstrip()
        context = describe(case) | told(case, fault, tex=form == "latex", variant=order.variant) | {
            "problem": asked.text, "files": file_blocks(asked.files), "wrong": wrong, "form": form, "optimum": case.optimum, "story": case.story,
        }
        return _finish(case, order, "faulty-model", context, asked.files, (), _fault_record(fault) | {"register": asked.register, "form": form})
    raise Unmade("no mis-modelling changes the outcome here")


def lucky(case: Case, problem: Problem, found: Label) -> bool:
    """The right optimum by a plan that breaks a rule."""
    right = case.instance.problem
    return (found.objective_exact is not None and found.objective_exact == case.label.objective_exact and found.point is not None
            and problem.columns == right.columns and bool(right.violations(found.point)))


def right_value(case: Case, order: Order) -> Product:
    """A faulty model whose optimum is the right one, and whose plan is not allowed: the same number from a wrong model."""
    asked = ask(case.instance, order)
    form = ("algebra", "latex")[order.variant // 4 % 2]
    for fault in faulty(case, order, _LUCKY, lucky):
        said = told(case, fault, tex=form == "latex", variant=order.variant)
        noticed = said["symptom"]
        if noticed is None or noticed.kind != "breach":
            continue
        wrong = model_text(fault.mutant.model).rstrip() if form == "algebra" else model_tex(fault.mutant.model).rstrip()
        tie = shared(case, fault.problem)
        claims = [c for c in said["claims"] if c is not noticed and not (tie and c.kind == "ties")] + ([tie] if tie else [])
        context = describe(case) | said | {
            "problem": asked.text, "files": file_blocks(asked.files), "wrong": wrong, "form": form, "optimum": case.optimum, "story": case.story,
            "evidence": " ".join(map(str, claims)), "claims": [*claims, noticed],
        }
        return _finish(case, order, "right-value", context, asked.files, (), _fault_record(fault) | {"register": asked.register, "form": form})
    raise Unmade("no mis-modelling reaches the optimum by another plan")


def doubt(case: Case, order: Order) -> Product:
    """The model is right; a reviewer wants to replace a row or term by a mis-modelling of it."""
    asked = ask(case.instance, order)
    for fault in faulty(case, order):
        part = fault.mutant.part
        if part.more or not isinstance(part.before, (Row, Term, VarDecl)) or not isinstance(part.after, (Row, Term, VarDecl)):
            continue  # a reviewer replaces one piece, and what replaces it stands on its own: no variable that nothing declares
        before, after = piece_text(part.before), piece_text(part.after)
        context = describe(case) | told(case, fault, which="changed model", variant=order.variant) | {
            "problem": asked.text, "files": file_blocks(asked.files), "before": before, "after": after, "optimum": case.optimum,
            "value": case.value, "says": defence(part.before),
            "piece": {"Row": "constraint", "Term": "objective term", "VarDecl": "variable"}[type(part.before).__name__],
        }
        return _finish(case, order, "unfounded-doubt", context, asked.files, (), _fault_record(fault) | {"register": asked.register})
    raise Unmade("no proposal of a reviewer changes the outcome here")


def infeasible_data(case: Case, order: Order) -> Product:
    tight = tighten(case, order.variant)
    if tight is None:
        raise Unmade("no single entry tried makes the instance infeasible")
    asked = ask(tight.instance, order)
    context = describe(case) | clash(case, tight) | {"problem": asked.text, "files": file_blocks(asked.files)}
    return _finish(case, order, "infeasible-data", context, asked.files, (), {"register": asked.register, **clash_record(tight)},
                   instance_id=tight.instance.id, status="infeasible", objective=None, extra_instances=((tight.instance, tight.label),))


def defence(piece: Row | Term | VarDecl) -> str:
    """Why a piece is right as it stands, in one clause with a capital letter and without a full stop."""
    if isinstance(piece, Row):
        return f"The constraint `{piece.name}` has to say that {piece.because}, and that is exactly what it says"
    if isinstance(piece, Term):
        return f"The objective term `{piece.name}` stands for {the(piece.meaning)}, and it is written accordingly"
    if piece.kind == "binary":
        return f"The variable `{piece.symbol}` is a yes-or-no choice, {whether(piece.meaning)}, and it is declared as one"
    if piece.kind == "integer":
        return f"The variable `{piece.symbol}` is {the(piece.meaning)}, which can only be a whole number, and it is declared as one"
    return f"The variable `{piece.symbol}` is {the(piece.meaning)}, which need not be a whole number, and its bounds are those of the text"


def piece_text(piece: Row | Term | VarDecl | Objective) -> str:
    if isinstance(piece, Row):
        return f"{row_label(piece)}: {row_text(piece)}"
    if isinstance(piece, Term):
        return f"{piece.name}: {expr_text(piece.expr)}"
    if isinstance(piece, Objective):
        return piece.sense
    return var_text(piece, str, str).partition(":")[0]


def changes(wrong: str, right: str, most: int = 18) -> str | None:
    """The lines of a program that a repair changes, as a diff; None if they are too many to be read at a glance."""
    lines = [x for x in difflib.unified_diff(wrong.splitlines(), right.splitlines(), n=0, lineterm="") if not x.startswith(("---", "+++", "@@"))]
    return "\n".join(lines) if 0 < len(lines) <= most else None


def told(case: Case, fault: Faulty, names: bool = False, tex: bool = False, which: str = "faulty model",
         variant: int | None = None) -> dict[str, Any]:
    """The account of a fault and what it comes to here, for templates; without a `variant` no more than its plan shows."""
    account = fault.mutant.account(case.model, names=names, tex=tex)
    claims, noticed = fault.claims(case, variant, which), symptom(case, fault.problem, fault.label, variant or 0)
    return {"fault": account.fault, "fault_clause": account.fault[:1].lower() + account.fault[1:].rstrip("."), "why": account.why,
            "repair": account.repair, "report": fault.report(case), "faulty_status": fault.label.status,
            "solved": fault.label.status == "optimal", "evidence": " ".join(map(str, claims)), "claims": [*claims, *([noticed] if noticed else [])],
            "symptom": noticed}


def _fault_record(fault: Faulty) -> dict[str, Any]:
    """plan: the nonzero part of the optimum that the claims are about."""
    value, point = fault.label.objective_exact, fault.label.point
    plan = {} if value is None or point is None else {"faulty_plan": {
        name: int(v) if v.denominator == 1 else exact_text(v) for name, v in zip(fault.problem.columns, point, strict=True) if v}}
    return plan | {"operator": fault.mutant.operator.id, "site": str(fault.mutant.site), "faulty_status": fault.label.status,
            "faulty_objective": None if value is None else exact_text(value)}
