"""The judge: what a model wrote goes in, a verdict with its reasons comes out.

    with Judge(workers=2) as judge:
        row = judge.judge(text, truth=197, data={"data.json": "..."})
        for row in judge.judge_many(answers):
            ...

extract -> sandbox -> captured model -> our own solve -> verdict.  May be called from any thread, and from a process forked
later; judging never raises, and what goes wrong on our side is UNDECIDED.  Given the same answers, the verdicts are the same.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

from orpipe.errors import EnvironmentError_, NotFound, UsageError
from orpipe.verify.against import RULES, Purse, Reference, Rule, about, weigh
from orpipe.verify.answers import Answer, files
from orpipe.verify.capture import Captured, discover
from orpipe.verify.crew import Promise
from orpipe.verify.extract import Extracted, extract
from orpipe.verify.isolation import FULL, available_layers
from orpipe.verify.machine import Machine
from orpipe.verify.row import VerdictRow, isolation_said, plain, versions
from orpipe.verify.sandbox import Job, Limits, Pool, Run
from orpipe.verify.solving import UNREAD
from orpipe.verify.taxonomy import Ending, Failure, read_ending
from orpipe.verify.truth import Truth
from orpipe.verify.verdict import Judgement, Policy, Solved, Verdict, decide, published

if TYPE_CHECKING:
    from orpipe.suites.suite import Suite

__all__ = ["Judge", "VerdictRow", "require_full"]

_RETRIES = 2
_REDRAWS = 3
_SHARE = 0.7  # of a budget, for the comparison alone where re-draws may follow


class Judge:
    """Judges answers, at most `workers` at a time.

    timeout: seconds (wall clock) a program may run; solve_timeout: seconds of our own solve, each solver.  tolerance,
    strict: see Policy.  isolation "full" refuses to work without every layer (EnvironmentError_ when made); "best" takes
    what the machine has and names it in every row.  algebra: an answer without a program is judged by the formulation it
    writes, where a reference model is there; answers to our own `formulate` questions always are (orpipe.verify.formulation).
    pool: an own sandbox.Pool, left open when the judge is closed.
    rule "equivalence" compares with the reference model where an answer has one, within `budget` seconds of work, re-draws
    included, and takes the strongest verdict reached; "optimum" never does.  probes: what many probes cannot tell apart counts as
    equivalent.  redraw: on how many hidden data sets a program that passed is run (default: 3 for one that reads data files and has
    a suite); suites: by structure hash.
    """

    def __init__(
        self, workers: int = 1, *, timeout: float = 20.0, tolerance: float = 1e-6, strict: bool = False,
        isolation: Literal["best", "full"] = "best", solve_timeout: float | None = None, limits: Limits | None = None,
        pool: Pool | None = None, rule: Rule = "equivalence", budget: float = 5.0, probes: bool = False,
        redraw: int | None = None, suites: Mapping[str, Suite] | None = None, algebra: bool = False,
    ) -> None:
        if workers < 1:
            raise UsageError(f"a judge needs at least one worker, not {workers}")
        for name, value in (("timeout", timeout), ("solve timeout", timeout if solve_timeout is None else solve_timeout)):
            if not value > 0:
                raise UsageError(f"the {name} is in seconds and positive, not {value:g}")
        if isolation not in ("best", "full"):
            raise UsageError(f"isolation is 'best' or 'full', not '{isolation}'")
        if rule not in RULES:
            raise NotFound.among("judge", rule, RULES)
        if not budget > 0:
            raise UsageError(f"the budget of a comparison is in seconds and positive, not {budget:g}")
        self.rule: Rule = rule
        if redraw is not None and redraw < 0:
            raise UsageError(f"redraw is a number of data sets, not {redraw}")
        self.budget, self.probes, self.redraw, self.suites = budget, probes, redraw, dict(suites or {})
        self.workers, self.isolation, self.policy = workers, isolation, Policy(tolerance, strict)
        self.limits, self.algebra = replace(limits or Limits(), seconds=timeout), algebra
        self.solve_timeout = timeout if solve_timeout is None else solve_timeout
        if isolation == "full":
            require_full()
        self._pool, self._given_pool = pool or Pool(workers, self.limits), pool is not None
        self._lock = threading.Lock()
        self._machine: Machine | None = None
        _ALL.add(self)

    def _after_fork(self) -> None:
        """Threads and helpers stayed in the parent."""
        if self._machine is not None:
            self._machine.solvers.forget()
        self._lock, self._machine = threading.Lock(), None

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the helpers; answers under way are undecided.  The judge may be used again afterwards.  If this is interrupted,
        calling it again goes on, and so does the end of the process."""
        machine = self._machine  # stays until the next answer, or an interrupted close would lose it
        if machine is not None:
            machine.close()
        if not self._given_pool:
            self._pool.close()

    def warm(self, *libraries: str) -> None:
        """Start helpers now rather than with the first answer: the solving processes, and the warm parents of these
        libraries ("ortools" stands for all of its interfaces); of none, those wait for their first answer."""
        self._ready().warm()
        names = [name for name in discover() for wanted in libraries if name == wanted or name.startswith(f"{wanted}.")]
        if names:
            self._pool.warm(*names)

    # ---------------------------------------------------------------------------------------------------- judging

    def judge(
        self, answer_text: str | None, truth: Any = None, data: Any = None, *, reference: str = "", index: int | str = 0,
        sample: int = 0, benchmark: str = "", family: str = "", level: str = "",
    ) -> VerdictRow:
        """Judge one answer.  truth: a label as benchmarks write it, or a Truth.  data: file name -> text, or the content
        of data.json.  reference: text of a reference model (LP or MPS), used where there is no truth."""
        return self.judge_answer(Answer(index, answer_text, truth, sample, 0, "", files(data), benchmark, family, level, reference))

    def judge_answer(self, answer: Answer) -> VerdictRow:
        promise: Promise[VerdictRow] = Promise()
        self._submit(answer, promise.give)
        return promise.result()

    def _submit(self, answer: Answer, told: Callable[[VerdictRow], object], wanted: Callable[[], bool] = lambda: True) -> None:
        """told: called with the row, in a thread of the crew; not if it is no longer wanted when its turn comes."""
        machine = self._ready()

        def task() -> None:
            if wanted():
                told(self._row(machine, answer))

        if not machine.crew.give(task):
            task()

    def judge_many(self, answers: Iterable[Answer], *, ordered: bool = True, window: int | None = None) -> Iterator[VerdictRow]:
        """Rows in the order of the answers, or as they come (ordered=False).  At most `window` answers (default: four a
        worker) are read ahead and held; closing the iterator drops what has not begun."""
        most = window or 4 * self.workers
        done: SimpleQueue[tuple[int, VerdictRow]] = SimpleQueue()
        early: dict[int, VerdictRow] = {}
        source: Iterator[Answer] | None = iter(answers)
        asked, given, wanted = 0, 0, True

        def ask(number: int, answer: Answer) -> None:
            self._submit(answer, lambda row: done.put((number, row)), lambda: wanted)

        try:
            while True:
                while source is not None and asked - given < most:
                    try:
                        answer = next(source)
                    except StopIteration:
                        source = None
                    else:
                        ask(asked, answer)
                        asked += 1
                if asked == given:
                    return
                while ordered and given not in early:
                    number, row = done.get()
                    early[number] = row
                yield early.pop(given) if ordered else done.get()[1]
                given += 1
        finally:
            wanted = False

    def _ready(self) -> Machine:
        with self._lock:
            if self._machine is None or self._machine.closed:
                self._machine = Machine(self.workers, self.solve_timeout)
                weakref.finalize(self, self._machine.close)
            return self._machine

    def _row(self, machine: Machine, answer: Answer) -> VerdictRow:
        began = time.perf_counter()
        case = _Case(answer, self, machine)
        try:
            row = case.closed() if machine.closed else case.judged()
        except Exception as error:  # whatever it is, it is no answer's fault
            fault = Judgement(Verdict.UNDECIDED, f"internal error ({type(error).__name__}: {error}); please report it", Failure.INTERNAL)
            try:
                row = case.row(fault)
            except Exception:  # a label that cannot be shown, say
                row = VerdictRow(answer.index, answer.sample, fault.verdict, fault.reason, fault.failure, position=answer.position)
        return replace(row, seconds=time.perf_counter() - began)


_ALL: weakref.WeakSet[Judge] = weakref.WeakSet()


def _forked() -> None:
    for judge in list(_ALL):
        judge._after_fork()


os.register_at_fork(after_in_child=_forked)


@dataclass
class _Case:
    """One answer on its way through."""

    answer: Answer
    judge: Judge
    machine: Machine
    truth: Truth = field(default_factory=Truth)
    found: Extracted | None = None
    run: Run | None = None
    ending: Ending | None = None
    solved: Solved | None = None
    optimum: Judgement | None = None
    redraw: str = ""

    def closed(self) -> VerdictRow:
        return self.row(Judgement(Verdict.UNDECIDED, "the judge was closed before the program ran", Failure.SANDBOX))

    def judged(self) -> VerdictRow:
        judge, answer, machine = self.judge, self.answer, self.machine
        self.truth = Truth.of(answer.label)
        if self.truth.absent and answer.reference:
            truth = machine.reference(answer.reference)
            self.truth = replace(truth, note=self._unread(truth.note))
        found = self.found = extract(answer.text, answer.data, call=not judge.policy.strict)
        if not found.code:
            if answer.text and answer.reference and (judge.algebra or answer.instance.get("task") == "formulate"):
                judged = machine.solvers.algebra(answer.text, answer.reference, answer.data, about(answer.instance), judge.budget)
                if judged is not None:
                    return self.row(replace(judged, reason=self._unread(judged.reason)))
            return self.row(Judgement(Verdict.ERROR, found.why, Failure.NO_CODE))
        if found.syntax:
            return self.row(Judgement(Verdict.ERROR, f"the program is not Python: {found.syntax}", Failure.SYNTAX))
        run = self.run = self._run(found.code)
        missing = FULL - set(run.layers)
        if judge.isolation == "full" and run.layers and missing:
            return self.row(Judgement(Verdict.UNDECIDED, f"it ran without {', '.join(sorted(missing))}", Failure.ISOLATION))
        ending = self.ending = read_ending(run, found.library, answer.data, judge.policy.strict)
        if ending.blame != "none" or run.captured is None:
            verdict = Verdict.ERROR if ending.blame == "answer" else Verdict.UNDECIDED
            return self.row(Judgement(verdict, ending.reason, ending.failure))
        self.solved = machine.solvers.solve(run.captured, self.truth, judge.policy)
        judgement = self.optimum = decide(self.solved, self.truth, judge.policy)
        if (answer.rule or judge.rule) == "equivalence":
            judgement = self._compared(judgement, self.solved, run.captured, Purse(judge.budget))
        reason = judgement.reason
        if run.n_solves > 1:
            reason += f"; the last of {run.n_solves} solves was judged"
        if ending.failure:
            reason += f"; after its solve {ending.reason}"
        return self.row(replace(judgement, reason=reason, failure=judgement.failure or ending.failure))

    def _compared(self, judgement: Judgement, solved: Solved, captured: Captured, purse: Purse) -> Judgement:
        """With the reference, then on other data, all within one budget."""
        judge, answer, solvers = self.judge, self.answer, self.machine.solvers
        known = bool(answer.data) and answer.instance.get("structure_hash") in judge.suites
        count = judge.redraw if judge.redraw is not None else _REDRAWS if known else 0
        redraws = bool(count and answer.instance)
        if answer.reference:
            share = purse.left * (_SHARE if redraws else 1.0)
            settings = {"budget": share, "names": "trusted" if answer.instance else "foreign", "accept_probes": judge.probes}
            compared = solvers.compare(captured, Reference(answer.reference, about(answer.instance)), settings)
            if "fault" in compared:
                compared = {"fault": self._unread(str(compared["fault"]))}
            purse.spent += float(compared.get("seconds", share))
            judgement = weigh(judgement, compared, solved, self.truth, judge.policy)
        if redraws:
            from orpipe.verify.redraw import Means, redrawn  # families and their words, which few judges need

            assert self.found is not None
            means = Means(self._run, solvers.solve, self.machine.reference, judge.policy, purse)
            judgement, self.redraw = redrawn(judgement, answer, self.found.code, count, judge.suites, means)
        return judgement

    def _unread(self, why: str) -> str:
        """What is said of a reference that cannot be read, with the row that it belongs to."""
        return f"the reference of row {self.answer.index} {why}" if why.startswith(UNREAD) else why

    def _run(self, code: str, data: Mapping[str, str] | None = None, most: float | None = None) -> Run:
        """In the sandbox; again where the sandbox itself failed.  most: seconds, if fewer than the judge's."""
        limits = self.judge.limits if most is None else replace(self.judge.limits, seconds=max(0.1, min(self.judge.limits.seconds, most)))
        job = Job(code, self.answer.data if data is None else data, limits)
        run = Run("sandbox", "the judge was closed before the program ran")
        try:
            for _ in range(1 + _RETRIES):
                promise = self.machine.submit(self.judge._pool, job)
                if promise is None:
                    break
                run = promise.result()
                if run.outcome != "sandbox" or "cannot be run here" in run.message:
                    break
        except UsageError as error:
            return Run("sandbox", f"the data files cannot be given to the program: {error}")
        return run

    def row(self, judgement: Judgement) -> VerdictRow:
        answer, run, solved = self.answer, self.run, self.solved
        captured = run.captured if run is not None else None
        library = (captured.library if captured is not None else "") or (self.found.library if self.found else "")
        no_truth = self.truth.absent or not judgement.verdict.decided
        return VerdictRow(
            index=answer.index, sample=answer.sample, verdict=judgement.verdict, reason=judgement.reason,
            failure=judgement.failure, exception=self.ending.exception if self.ending else "",
            objective=solved.objective if solved else None, status=solved.status if solved else "",
            label=plain(answer.label), truth=str(self.truth), library=library,
            interface=captured.interface if captured is not None else "",
            n_vars=len(captured.columns) if captured is not None else None,
            n_int=int(captured.integer.sum()) if captured is not None else None,
            n_rows=len(captured.rows) if captured is not None else None,
            extraction=self.found.how if self.found else "", solves=run.n_solves if run is not None else 0,
            method=judgement.method, evidence=judgement.evidence,
            rules={} if no_truth else dict(published(solved or Solved(""), self.truth)),
            optimum=(self.optimum or judgement).verdict, redraw=self.redraw,
            tolerance=str(self.judge.policy), run_seconds=run.seconds if run is not None else 0.0,
            solve_seconds=solved.seconds if solved else 0.0, isolation=isolation_said(run), versions=versions(library),
            benchmark=answer.benchmark, family=answer.family, level=answer.level, position=answer.position,
        )


def require_full() -> None:
    """EnvironmentError_ if this machine lacks a layer of isolation."""
    lacking = [layer for layer in available_layers() if layer.name in FULL and not layer.available]
    if lacking:
        what = "; ".join(f"{layer.name} ({layer.reason})" for layer in lacking)
        raise EnvironmentError_(f"full isolation is not to be had here: {what}; see 'orpipe doctor', or leave out --require-isolation")
