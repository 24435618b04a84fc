"""Other data for the same program: answers that are right by their numbers alone differ on them.

    task = task_of(answer, code, suites, k)   what the program reads, and with what else it can be run; or why not
    found = redraw(task, run, reference)      the first difference ends it

A program that reads the instance's data files is given each data set in the instance's own names.  One whose data stand in it
as literals is re-bound (rebind.py).  A different status or optimum, as sure as any WRONG_OPTIMUM, is a difference.  A program that
reads its data and raises on other labels or sizes is tried with other numbers under the instance's own: if it raises there each time
(and there is an optimum), the failure is the answer's; if not, it is only less general, which says nothing about its model.
Agreement proves nothing.
"""

from __future__ import annotations

import ast
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from orpipe.algebra.idioms import lower
from orpipe.algebra.nodes import Model
from orpipe.errors import OrpipeError
from orpipe.families import Family, Rejected, families
from orpipe.ground import ground, structure_hash
from orpipe.instances import stream
from orpipe.mps import write_mps
from orpipe.render.files import data_csv, data_json
from orpipe.scenarios import Labels, dress, scenario
from orpipe.verify.against import Purse
from orpipe.verify.answers import Answer
from orpipe.verify.capture import Captured
from orpipe.verify.rebind import Binding, bind
from orpipe.verify.sandbox import Run
from orpipe.verify.taxonomy import Failure, read_ending
from orpipe.verify.truth import Truth
from orpipe.verify.verdict import Judgement, Policy, Solved, Verdict, decide

if TYPE_CHECKING:
    from orpipe.suites.suite import DataSet, Suite

_one_at_a_time = threading.Lock()  # units and families are made when first asked for, by one thread


def _after_fork() -> None:
    global _one_at_a_time
    _one_at_a_time = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)

_DRAWS = 12  # draws of a sampler before a data set is given up
_OWN, _LEAST_OWN = 4, 2  # data sets under the own labels that are tried; on so many at least a program has to raise
_RAISED = (Failure.EXCEPTION, Failure.MISSING_KEY, Failure.MISSING_FILE, Failure.NO_MODEL)
_MOST = 4000  # characters of a data set that evidence holds


@dataclass(frozen=True, eq=False)
class Hidden:
    """A data set (by symbol) with what is right on it; text: the MPS of its model, where that is still to be solved."""

    data: Mapping[str, Any]
    truth: Truth | None = None
    text: str = ""

    @classmethod
    def of(cls, one: DataSet) -> Hidden:
        if one.status != "optimal" or one.objective_exact is None:
            return cls(one.data, Truth.status(one.status))
        return cls(one.data, Truth.optimum(float(one.objective_exact)))


@dataclass(frozen=True, eq=False)
class Task:
    """A program to be run on other data.  how: "files" or "literals"; sets: what it can be given, in order."""

    code: str
    how: str
    model: Model
    sets: Sequence[Hidden]
    files: Sequence[str] = ()
    binding: Binding | None = None
    own: Callable[[], Sequence[Hidden]] = tuple  # other numbers under the labels of the instance, for a program that fails

    def on(self, one: Hidden) -> tuple[str, Mapping[str, str]]:
        """The program and its files for one data set."""
        if self.binding is not None:
            return self.binding.program(one.data), {}
        rendered = {"data.json": data_json(self.model, one.data)} if "data.json" in self.files else data_csv(self.model, one.data)
        return self.code, rendered


@dataclass(frozen=True)
class Outcome:
    """said: "redraw(n)" if n data sets agreed and none differed, "differs: ..." or why nothing can be told."""

    said: str
    agreed: int = 0
    difference: Mapping[str, Any] | None = None
    sentence: str = ""
    failed: Judgement | None = None  # the answer's own failure: it raises with any other numbers


@dataclass(frozen=True, eq=False)
class Structure:
    family: Family
    formulation: str
    linear: Model  # dressed


@lru_cache(maxsize=256)
def structure(family: str, digest: str, scenario_id: str) -> Structure | None:
    """The family's formulation of this structure hash in a scenario's words; None if there is none of this name or hash."""
    if family not in families.names():
        return None
    known = families[family]
    for formulation in known.formulations:
        symbolic = known.symbolic(formulation)
        if structure_hash(symbolic) == digest:
            try:
                return Structure(known, formulation, lower(dress(symbolic, scenario(family, scenario_id))))
            except OrpipeError:
                return None
    return None


@lru_cache(maxsize=512)
def drawn(family: str, formulation: str, level: int, scenario_id: str, count: int) -> tuple[Hidden, ...]:
    """Data sets of our own draw, for structures without a suite; the same whenever it is asked."""
    known, found = families[family], []
    symbolic = known.symbolic(formulation)
    size = known.levels[min(max(level, 1), len(known.levels)) - 1]
    for k in range(_DRAWS):
        rng = stream(0, "redraw", family, formulation, level, k)
        try:
            data = known.sample(rng, size, Labels(scenario(family, scenario_id), symbolic, rng))
            found.append(Hidden(data, text=write_mps(ground(lower(symbolic), data))))
        except (Rejected, OrpipeError):
            continue
        if len(found) == count:
            break
    return tuple(found)


def reads_files(code: str, files: Mapping[str, str]) -> bool:
    """Does the program name one of its files?"""
    try:
        texts = {node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    except (SyntaxError, ValueError, RecursionError):
        return False
    return any(name in text for text in texts for name in files)


def task_of(answer: Answer, code: str, suites: Mapping[str, Suite], count: int) -> Task | str:
    """What to run, or in one clause why nothing can be."""
    instance = answer.instance
    found = structure(str(instance.get("family")), str(instance.get("structure_hash")), str(instance.get("scenario") or ""))
    if found is None:
        return "the structure or the scenario of its instance is not known here"
    try:
        data = json.loads(instance["data"])
    except (TypeError, ValueError, RecursionError) as error:
        return f"the data of row {answer.index}'s instance cannot be read: {error}"
    if answer.data and reads_files(code, answer.data):
        if not _as_we_write(answer.data, found.linear, data):
            return "its data files are not as we write them"
        suite = suites.get(str(instance["structure_hash"]))
        sets = tuple(map(Hidden.of, suite.sets)) if suite is not None and suite.sets else drawn(
            found.family.name, found.formulation, _level(instance), str(instance["scenario"]), count)
        own = partial(same_shape, found.linear, data, str(instance["id"]))
        return Task(code, "files", found.linear, sets[:count], tuple(answer.data), own=own) if sets else "no hidden data could be drawn"
    binding = bind(code, found.linear, data)
    if isinstance(binding, str):
        return binding
    sets = tuple(Hidden(other, text=write_mps(ground(found.linear, other)))
                 for other in binding.redraws(stream(0, "rebind", str(instance.get("id"))), count))
    return Task(code, "literals", found.linear, sets, binding=binding) if sets else "no other numbers of its data are valid"


def same_shape(model: Model, data: Mapping[str, Any], key: str) -> tuple[Hidden, ...]:
    """Other numbers for every parameter, the labels and sizes as they are."""
    binding = Binding("", model, data, {p.symbol: () for p in model.params})
    return tuple(Hidden(other, text=write_mps(ground(model, other))) for other in binding.redraws(stream(0, "own", key), _OWN))


def _level(instance: Mapping[str, Any]) -> int:
    level = instance.get("level")
    return level if isinstance(level, int) else 1


def _as_we_write(files: Mapping[str, str], model: Model, data: Mapping[str, Any]) -> bool:
    try:
        if set(files) == {"data.json"}:
            return bool(json.loads(files["data.json"]) == json.loads(data_json(model, data)))
        return dict(files) == data_csv(model, data)
    except (ValueError, RecursionError, OrpipeError):
        return False


@dataclass(frozen=True)
class Means:
    """What the judge lends: run(code, files, seconds) in the sandbox, its solve of a captured model and the truth of a reference MPS,
    both in so many seconds, and the purse that all of it is paid from."""

    run: Callable[[str, Mapping[str, str], float], Run]
    solve: Callable[[Captured, Truth, Policy, float], Solved]
    reference: Callable[[str, float], Truth]
    policy: Policy
    purse: Purse

    @contextmanager
    def paid(self) -> Iterator[float]:
        """Seconds that are left; what is done within is paid for."""
        began = time.perf_counter()
        yield self.purse.left
        self.purse.spent += time.perf_counter() - began

    @property
    def spent(self) -> str:
        """Why no more can be done; "" as long as it can."""
        return "" if self.purse.left else f"the budget of {self.purse.budget:g} s is spent"


def redrawn(
    judgement: Judgement, answer: Answer, code: str, k: int, suites: Mapping[str, Suite], means: Means,
) -> tuple[Judgement, str]:
    """The judgement after up to k data sets, and what a row says of them.

    Only what passed so far is tried, and programs with their data inside only where equivalence is not proved: they are asked for
    this instance and no other."""
    if not judgement.verdict.passed or not answer.instance:
        return judgement, ""
    if judgement.verdict is Verdict.EQUIVALENT and not (answer.data and reads_files(code, answer.data)):
        return judgement, "not needed: equivalent, and its data stand in it"
    if means.spent:
        return judgement, f"undecided: {means.spent}"
    try:
        with _one_at_a_time, means.paid():
            task = task_of(answer, code, suites, k)
    except Exception as error:  # ours; the verdict so far stands
        return judgement, f"undecided: internal error ({type(error).__name__}: {error}); please report it"
    if isinstance(task, str):
        return judgement, f"not bound: {task}"

    def on(program: str, files: Mapping[str, str], truth: Truth) -> Judgement:
        ended = means.run(program, files, means.purse.left)
        means.purse.spent += ended.seconds
        ending = read_ending(ended, "", files, means.policy.strict)
        if means.spent and (ended.outcome == "timeout" or ended.captured is None):
            return Judgement(Verdict.UNDECIDED, means.spent, Failure.LIMIT)
        if ending.blame != "none" or ended.captured is None:
            verdict = Verdict.ERROR if ending.blame == "answer" else Verdict.UNDECIDED
            return Judgement(verdict, ending.reason, ending.failure, evidence={"exception": ending.exception})
        truth = turned(truth, ended.captured.maximize)
        with means.paid() as left:
            solved = means.solve(ended.captured, truth, means.policy, left)
        return decide(solved, truth, means.policy)

    def right(text: str) -> Truth:
        with means.paid() as left:
            return means.reference(text, left)

    found = redraw(task, on, right, lambda: means.spent)
    evidence = {**judgement.evidence, "redraw": {"agreed": found.agreed, "how": task.how}}
    if found.failed is not None:
        reason = f"with other numbers in its files (labels and sizes as they are) {found.failed.reason}; before: {judgement.reason}"
        return Judgement(Verdict.ERROR, reason, found.failed.failure, "redraw", evidence), found.said
    if found.difference is None:
        return replace(judgement, evidence=evidence), found.said
    evidence["redraw"] = dict(found.difference)
    failure = judgement.failure
    return Judgement(Verdict.NOT_EQUIVALENT, f"{found.sentence}; before: {judgement.reason}", failure, "redraw", evidence), found.said


def turned(truth: Truth, maximize: bool) -> Truth:
    """The truth in the sense of a model that minimises -f where the reference maximises f, so that signs have to agree."""
    if truth.maximize is None or truth.maximize == maximize:
        return truth
    return replace(truth, values=tuple(replace(v, number=-v.number) for v in truth.values), maximize=maximize)


def redraw(task: Task, run: Callable[[str, Mapping[str, str], Truth], Judgement], reference: Callable[[str], Truth],
           spent: Callable[[], str] = lambda: "") -> Outcome:
    """Run the program on each data set.  run(code, files, truth): the verdict by the optimum, ERROR where the program failed;
    reference(MPS text): what is right; spent(): why no more can be done, if so."""
    agreed, open_, raised = 0, "", []
    for k, one in enumerate(task.sets):
        if why := spent():
            open_ = open_ or f"data set {k + 1}: {why}"
            break
        truth = one.truth if one.truth is not None else reference(one.text)
        if truth.absent:
            open_ = open_ or f"data set {k + 1}: {truth.note}"
            continue
        judged = run(*task.on(one), replace(truth, maximize=task.model.objective.sense == "maximize"))
        if judged.verdict is Verdict.SAME_OPTIMUM:
            agreed += 1
        elif judged.verdict is Verdict.WRONG_OPTIMUM:
            return _differs(task, one, judged, k + 1, agreed, "its files re-drawn" if task.how == "files" else "its literals re-drawn")
        elif task.how == "files" and judged.verdict is Verdict.ERROR and judged.failure in _RAISED:
            raised.append(judged)
        else:
            open_ = open_ or f"data set {k + 1}: {judged.reason}"
    if raised:
        return _failed(task, raised, agreed, run, reference, spent)
    if agreed:
        return Outcome(f"redraw({agreed})" + (f"; open: {open_}" if open_ else ""), agreed)
    return Outcome(f"undecided: {open_ or 'no data set could be used'}")


def _differs(task: Task, one: Hidden, judged: Judgement, place: int, agreed: int, what: str) -> Outcome:
    text = json.dumps(one.data, ensure_ascii=False)
    evidence = {"data_set": place, "how": task.how, "agreed_before": agreed, "reason": judged.reason,
                "data": one.data if len(text) <= _MOST else text[:_MOST] + " ..."}
    return Outcome(f"differs: data set {place}: {judged.reason}", agreed, evidence, f"on other data ({what}) {judged.reason}")


def _failed(task: Task, raised: Sequence[Judgement], agreed: int, run: Callable[[str, Mapping[str, str], Truth], Judgement],
            reference: Callable[[str], Truth], spent: Callable[[], str]) -> Outcome:
    """Of a program that raised on hidden data: does it with any other numbers, or only with other labels and sizes?"""
    said = f"failed on {len(raised)} of {len(task.sets)}: {raised[0].evidence.get('exception') or raised[0].failure}"
    said = f"redraw({agreed}); {said}" if agreed else said
    again: list[Judgement] = []
    for k, one in enumerate(task.own()):
        if spent():
            break
        truth = reference(one.text)
        if not truth.values:
            continue  # a program may refuse data that have no plan
        again.append(run(*task.on(one), replace(truth, maximize=task.model.objective.sense == "maximize")))
        if again[-1].verdict is Verdict.WRONG_OPTIMUM:
            return _differs(task, one, again[-1], k + 1, agreed, "its files with other numbers, labels and sizes as they are")
    if len(again) >= _LEAST_OWN and all(j.verdict is Verdict.ERROR and j.failure in _RAISED for j in again):
        return Outcome(f"{said}; with its own labels and sizes on {len(again)} of {len(again)}", agreed, failed=again[0])
    same = sum(j.verdict is Verdict.SAME_OPTIMUM for j in again)
    return Outcome(f"{said}; with its own labels and sizes it agrees on {same} of {len(again)}" if again else said, agreed)
