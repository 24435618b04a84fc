"""Auditing a finished dataset from its files alone: nothing that the generator held in memory is trusted.

For each instance: the MPS is read and solved by OR-Tools (never the first solver) and read again by our exact reader; the
data are grounded anew and must give the same matrix; the stored solution is checked in exact arithmetic, and so is what the
row says about it (audit_facts).  For each example
and document: every whole program in it is run in the sandbox and must build that matrix and print the label (a faulty
program: what the metadata say it reports), and the text must say what it is there to say.  Across rows: ids, splits, counts
and file hashes.

A check passes, finds a fault, or is undecided (a solver's limit, a sandbox that fails): never passed by default.
"""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from orpipe import __version__
from orpipe.algebra.idioms import lower
from orpipe.algebra.nodes import Model
from orpipe.build import audit_suites, gates, quarantine
from orpipe.build.audit_facts import fact_checks
from orpipe.build.schema import CONFIGS, SPLITS
from orpipe.build.write import file_hashes
from orpipe.errors import NotFound, OrpipeError, UsageError
from orpipe.exact import fraction
from orpipe.families import families
from orpipe.ground import data_hash, ground, structure_hash
from orpipe.mps import read_mps, write_mps
from orpipe.problem import Problem
from orpipe.solve import Label, label
from orpipe.verify.replay import Script, judge
from orpipe.verify.sandbox import Job, Limits, Pool, Run
from orpipe_solvers import solve_mps_text

_FENCE = re.compile(r"```python\n(.*?)```", re.S)
_FILE = re.compile(r"\*\*([\w.]+)\*\*\n```(?:json|csv)\n(.*?)\n```", re.S)
_LIBRARIES = re.compile(r"^\s*(?:import|from)\s+(?:pyomo|pulp|ortools|highspy)\b", re.M)
_TOLERANCE = 1e-6
_PATIENCE = Limits(seconds=60.0)
_BAD_ROW = (KeyError, ValueError, TypeError, AttributeError, ArithmeticError, IndexError, OrpipeError)


@dataclass(frozen=True)
class Fault:
    """A check that failed, or that could not be decided."""

    config: str
    id: str
    check: str
    detail: str


@dataclass(frozen=True)
class Undecided:
    """Why a check has no result here."""

    why: str


Finding = str | Undecided | None  # what is wrong, why it is not known, or nothing


class Check(NamedTuple):
    name: str
    finding: Finding


@dataclass
class Audit:
    """checks: how many of each passed; faults and undecided: everything that did not."""

    checks: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    undecided: list[Fault] = field(default_factory=list)

    def note(self, config: str, id: str, check: str, finding: Finding) -> None:
        if finding is None:
            self.checks[check] += 1
        elif isinstance(finding, Undecided):
            self.undecided.append(Fault(config, id, check, finding.why))
        else:
            self.faults.append(Fault(config, id, check, finding))


@dataclass(frozen=True)
class Manifest:
    counts: Mapping[str, Mapping[str, int]]
    sha256: Mapping[str, str]
    proof_nodes: int


def open_manifest(folder: Path) -> Manifest:
    """UsageError if the folder is no dataset."""
    try:
        content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        stated = {"suites": {}} | content["counts"]  # folders of before there were suites
        counts = {config: {str(k): int(v) for k, v in stated[config].items()} for config in CONFIGS}
        return Manifest(counts, dict(content["sha256"]), int(content["recipe"]["proof_nodes"]))
    except OSError:
        raise UsageError(f"'{folder}' is not a dataset of orpipe (no manifest.json); name a folder written by 'orpipe generate'") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"'{folder}/manifest.json' is damaged ({error}); generate the dataset again") from None


@dataclass(frozen=True)
class Known:
    """What rows of sft and cpt are compared with; the texts are packed to keep memory small."""

    id: str
    split: str
    status: str
    objective: float | None
    objective_exact: str | None
    packed: bytes

    @classmethod
    def of(cls, row: Mapping[str, Any], split: str) -> Known:
        kept = json.dumps({k: row[k] for k in ("family", "data", "mps", "structure_hash")})
        return cls(row["id"], split, row["status"], row["objective"], row["objective_exact"], zlib.compress(kept.encode(), 1))

    @property
    def row(self) -> dict[str, Any]:
        return json.loads(zlib.decompress(self.packed))

    @property
    def optimum(self) -> Fraction | None:
        return None if self.objective_exact is None else Fraction(self.objective_exact)


@lru_cache(maxsize=64)
def _problem(known: Known) -> Problem:
    """The matrix that programs must build: the data grounded anew where that is the MPS (which scales rows with fractions)."""
    row = known.row
    read = read_mps(row["mps"])
    anew = regrounded(row, read)
    return anew if anew is not None and _same_matrix(anew, read) is None else read


# -- instances ---------------------------------------------------------------------------------------------------------
@cache
def _models(family: str) -> dict[str, Model]:
    """Linear models of a family's formulations by structure hash; empty for a family that there is not."""
    try:
        found = families[family]
    except NotFound:
        return {}
    symbolic = [found.symbolic(f) for f in found.formulations]
    return {structure_hash(m): lower(m) for m in symbolic}


def regrounded(row: Mapping[str, Any], read: Problem) -> Problem | None:
    """What the data ground to, under the names of the MPS.  None if no formulation has the structure hash, or the sizes differ."""
    model = _models(row["family"]).get(row["structure_hash"])
    if model is None:
        return None
    anew = ground(model, json.loads(row["data"]))
    if (anew.n_vars, anew.n_rows) != (read.n_vars, read.n_rows):
        return None
    return replace(anew, columns=read.columns, rows=read.rows)


def _same_matrix(anew: Problem, read: Problem) -> str | None:
    return read_mps(write_mps(anew)).difference(read)


def instance_checks(row: Mapping[str, Any], proof_nodes: int = 0) -> Iterator[Check]:
    """Everything that one row of `instances` claims by itself; proof_nodes bounds each proof made again."""
    other = solve_mps_text(row["mps"])
    if not other.outcome.proof:
        yield Check("mps solved by a second reader and solver", Undecided(str(other)))
    else:
        same = str(other.outcome) == row["status"] and (row["objective"] is None or close(other.objective, row["objective"]))
        yield Check("mps solved by a second reader and solver", None if same else f"{other} against {row['status']} {row['objective']}")
    problem = read_mps(row["mps"])
    sizes = {"n_vars": problem.n_vars, "n_rows": problem.n_rows, "n_nonzeros": problem.n_nonzeros, "n_int": int(problem.integer.sum()),
             "n_bin": int(problem.binary.sum()), "kind": problem.kind, "sense": "max" if problem.maximize else "min"}
    wrong = [f"{name} is {row[name]}, the mps has {size}" for name, size in sizes.items() if row[name] != size]
    yield Check("sizes", "; ".join(wrong) or None)
    yield Check("data hash", None if data_hash(json.loads(row["data"])) == row["data_hash"] else "does not fit the data")
    anew = regrounded(row, problem)
    if row["generator_version"] == __version__:
        yield Check("data ground to the mps", "the data and the structure hash give another model" if anew is None else _same_matrix(anew, problem))
    stated = row["status"] == "optimal"
    whole = stated == (row["objective"] is not None) == (row["objective_exact"] is not None)
    exact = whole and (not stated or float(Fraction(row["objective_exact"])) == row["objective"])
    yield Check("objective exact", None if exact else f"{row['status']}: {row['objective']} against {row['objective_exact']}")
    x: Sequence[Fraction] | str | None = _solution(row, problem) if stated else None
    if stated:
        yield Check("solution exact", x if isinstance(x, str) else None)
    full = anew if anew is not None and _same_matrix(anew, problem) is None else problem
    for name, wrong_, unknown in fact_checks(row, full, None if isinstance(x, str) else x, proof_nodes):
        yield Check(name, Undecided(wrong_) if wrong_ and unknown else wrong_)


def _solution(row: Mapping[str, Any], problem: Problem) -> Sequence[Fraction] | str:
    """The exact point, or what is wrong with it."""
    names = {_plain(c): c for c in problem.columns}
    point = {}
    for name, entries in json.loads(row["solution"]).items():
        for labels, value in entries.items():
            key = _plain(f"{name}[{labels}]" if labels else name)
            if key not in names:
                return f"names unknown column '{key}'"
            point[names[key]] = fraction(value)
    x = problem.point(point)
    if broken := problem.violations(x):
        return f"breaks {broken[0].where} by {broken[0].amount}"
    value = problem.objective(x)
    return x if value == Fraction(row["objective_exact"]) else f"has objective {value}, the label says {row['objective_exact']}"


def _plain(name: str) -> str:
    return re.sub(r"\s", "_", name)


def close(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and abs(a - b) <= _TOLERANCE * max(1.0, abs(b))


# -- examples and documents --------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Expected:
    """A program found in a text, and what it must do: build the matrix of `known`, or (a faulty one) report what is stated."""

    id: str
    code: str
    files: Mapping[str, str]
    known: Known
    faulty: bool = False
    status: str = ""
    objective: float | None = None


def whole_programs(text: str) -> list[str]:
    """Fenced blocks that import a solver library and print a result."""
    return [code for code in _FENCE.findall(text) if _LIBRARIES.search(code) and "optimal_value" in code]


def sft_checks(row: Mapping[str, Any], known: Known) -> Iterator[Check]:
    """What an example claims besides its programs."""
    label_columns = ("status", "objective", "objective_exact")
    wrong = [f"{c} is {row[c]}, its instance has {getattr(known, c)}" for c in label_columns if row[c] != getattr(known, c)]
    yield Check("label as instance", "; ".join(wrong) or None)
    roles = [m["role"] for m in row["messages"]]
    yield Check("messages", None if roles == ["user", "assistant"] * (len(roles) // 2) and roles else f"roles are {roles}")
    prompt = "\n".join(m["content"] for m in row["messages"] if m["role"] == "user")
    absent = [name for name, text in json.loads(row["files"]).items() if text.rstrip() not in prompt]
    yield Check("files shown", f"the prompt does not show {', '.join(absent)} as attached" if absent else None)
    if known.optimum is None:
        return
    if row["task"] in gates.PROMPTS_WITHOUT_ANSWER:
        yield Check("no answer in the prompt", gates.leak(prompt, known.optimum, gates.data_numbers(json.loads(known.row["data"]))))
    if row["task"] == "solve":
        found = gates.states(row["messages"][-1]["content"], known.optimum)
        yield Check("optimum stated", None if found else f"the answer does not say {known.objective_exact}")


def preference_checks(row: Mapping[str, Any], known: Known) -> Iterator[Check]:
    """The chosen answer is an example as any other; the rejected one must claim another outcome and be another text."""
    chosen, rejected = ([m["content"] for m in row[name]] for name in ("chosen", "rejected"))
    yield from sft_checks({**row, "task": "solve", "messages": [*row["prompt"], *row["chosen"]]}, known)
    value = row["rejected_objective_exact"]
    other = row["rejected_status"] != known.status or not close(None if value is None else float(Fraction(value)), known.objective)
    yield Check("rejected differs", None if other and chosen != rejected else "its outcome or its text is that of the chosen answer")
    yield Check("rejected messages", None if [m["role"] for m in row["rejected"]] == ["assistant"] else "rejected is not one assistant message")


def programs(config: str, row: Mapping[str, Any], known: Known) -> list[Expected]:
    if config == "cpt":
        files = {name: body + "\n" for name, body in _FILE.findall(row["text"])}
        return [Expected(row["id"], code, files, known) for code in whole_programs(row["text"])]
    files, meta = json.loads(row["files"]), json.loads(row["metadata"])
    if config == "preference":
        value = row["rejected_objective_exact"]
        wrong = (True, row["rejected_status"], None if value is None else float(Fraction(value)))
        return [Expected(row["id"], code, files, known, *end) for name, end in (("chosen", ()), ("rejected", wrong))
                for message in row[name] for code in whole_programs(message["content"])]
    value = meta.get("faulty_objective")
    found = []
    for message in row["messages"]:
        for code in whole_programs(message["content"]):
            if message["role"] == "assistant":
                found.append(Expected(row["id"], code, files, known))
            else:
                found.append(Expected(row["id"], code, files, known, True, meta.get("faulty_status", ""),
                                      None if value is None else float(Fraction(value))))
    return found


def _present(row: Mapping[str, Any], found: list[Expected]) -> str | None:
    """A dialect is named exactly where the text holds a program in it."""
    right, wrong = [e for e in found if not e.faulty], [e for e in found if e.faulty]
    if bool(row["dialect"]) != bool(right):
        return f"dialect is '{row['dialect']}', and {len(right)} whole programs are found"
    asks = row.get("subtask") == "faulty-program" or "rejected_status" in row
    return None if bool(wrong) == asks else f"{len(wrong)} whole programs are found in the prompt"


def program_finding(run: Run, expected: Expected) -> Finding:
    if run.outcome == "sandbox":
        return Undecided(f"the sandbox failed: {run.message}")
    if not expected.faulty:
        problem = _problem(expected.known)
        played = judge(Script(expected.code, problem, expected.known.objective, expected.known.status, expected.files), run)
        return None if played.passed else f"{played.stage}: {played.reason}"
    if run.captured is None:
        return f"program ended as {run.outcome}: {run.message or run.exception}"
    result = label(run.captured.problem())
    if not isinstance(result, Label):
        return Undecided(f"its model has no label ({result.reason}: {result.detail})")
    if result.status != expected.status or (expected.status == "optimal" and not close(result.objective, expected.objective)):
        return f"its model is {result.status} {result.objective}, the metadata say {expected.status} {expected.objective}"
    return None


def _told(made: Callable[[], Iterator[audit_suites.Told]]) -> Iterator[Check]:
    for check, finding in made():
        yield Check(check, Undecided(finding.why) if isinstance(finding, audit_suites.Open) else finding)


# -- the walk ----------------------------------------------------------------------------------------------------------
class _Walk:
    def __init__(self, folder: Path, proof_nodes: int, progress: Callable[[str], None] | None):
        self.folder, self.proof_nodes, self.progress, self.found = folder, proof_nodes, progress, Audit()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.known: dict[str, Known] = {}
        self.homes: dict[str, str] = {}  # data hash -> split
        self.stated: dict[str, audit_suites.Stated] = {}  # by structure hash

    def rows(self, config: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(split, row) of a config, file by file; unreadable files and repeated ids are faults."""
        ids: set[str] = set()
        for path in sorted((self.folder / config).glob("*.parquet")):
            split = path.name.partition("-")[0]
            try:
                with pq.ParquetFile(path) as file:
                    for batch in file.iter_batches(batch_size=200):
                        for row in batch.to_pylist():
                            self.counts[config, split] += 1
                            if "id" in CONFIGS[config].names:
                                self.found.note(config, str(row.get("id")), "unique id", "stands twice" if row.get("id") in ids else None)
                                ids.add(row.get("id"))
                            yield split, row
                            if self.progress and config not in ("rejected", "suites"):
                                self.progress(config)
            except (pa.ArrowException, OSError) as error:
                self.found.note("files", f"{config}/{path.name}", "readable", " ".join(str(error).split())[:200])

    def checks(self, config: str, id: str, made: Callable[[], Iterator[Check]]) -> None:
        """A row that cannot even be read is a fault of that row."""
        try:
            for name, finding in made():
                self.found.note(config, id, name, finding)
        except _BAD_ROW as error:
            self.found.note(config, id, "readable", f"{type(error).__name__}: {error}")

    def suites(self) -> None:
        by_structure: dict[str, list[dict[str, Any]]] = {}
        for _, row in self.rows("suites"):
            self.checks("suites", f"{row.get('structure_hash')}/{row.get('index')}", partial(_told, partial(audit_suites.row_checks, row)))
            by_structure.setdefault(str(row.get("structure_hash")), []).append(row)
        for key, rows in by_structure.items():
            self.checks("suites", key, partial(_told, partial(audit_suites.suite_checks, rows)))
            with contextlib.suppress(*_BAD_ROW):
                self.stated[key] = audit_suites.stated(rows)

    def instances(self) -> None:
        for split, row in self.rows("instances"):
            self.checks("instances", str(row.get("id")), partial(self._shares, row))
            self.checks("instances", str(row.get("id")), partial(instance_checks, row, self.proof_nodes))
            self.checks("instances", str(row.get("id")), partial(self._remember, row, split))

    def _shares(self, row: Mapping[str, Any]) -> Iterator[Check]:
        yield Check("discrimination", audit_suites.instance_finding(row, self.stated))

    def _remember(self, row: Mapping[str, Any], split: str) -> Iterator[Check]:
        self.known[row["id"]] = Known.of(row, split)
        home = self.homes.setdefault(row["data_hash"], split)
        yield Check("one split", None if home == split else f"the same data stand in '{home}' and in '{split}'")

    def quarantined(self) -> None:
        """Disagreements are whole, and every file of the quarantine belongs to one."""
        named: set[str] = set()
        for _, row in self.rows("rejected"):
            if row.get("reason") == quarantine.REASON:
                self.checks("rejected", f"{row['family']} L{row['level']} {row['seed']}", partial(self._disagreement, row))
                named.add(Path(json.loads(row["detail"]).get("problem", "")).name)
        for path in sorted((self.folder / quarantine.FOLDER).glob("*")):
            if path.name not in named:
                self.found.note("files", f"{quarantine.FOLDER}/{path.name}", "disagreement quarantined", "no row of rejected names it")

    def _disagreement(self, row: Mapping[str, Any]) -> Iterator[Check]:
        yield Check("disagreement quarantined", quarantine.fault(self.folder, row))

    def texts(self, config: str, pool: Pool, ahead: int) -> None:
        waiting: deque[tuple[Expected, Future[Run]]] = deque()
        for split, row in self.rows(config):
            self.checks(config, str(row.get("id")), partial(self._text, config, row, split))
            try:
                known = self.known[row["instance_id"]]
                waiting.extend((e, pool.submit(Job(e.code, e.files))) for e in programs(config, row, known))
            except _BAD_ROW:
                continue  # told by _text
            while len(waiting) > ahead:
                self._settle(config, pool, *waiting.popleft())
        while waiting:
            self._settle(config, pool, *waiting.popleft())

    def _text(self, config: str, row: Mapping[str, Any], split: str) -> Iterator[Check]:
        known = self.known.get(row["instance_id"])
        yield Check("instance known", None if known else f"instance {row['instance_id']} is not in the dataset")
        if known is None:
            return
        yield Check("split by instance", None if known.split == split else f"its instance is in '{known.split}', not '{split}'")
        if config == "sft":
            yield from sft_checks(row, known)
        elif config == "preference":
            yield from preference_checks(row, known)
        yield Check("program present", _present(row, programs(config, row, known)))

    def _settle(self, config: str, pool: Pool, expected: Expected, future: Future[Run]) -> None:
        run = future.result()
        if run.outcome == "sandbox":
            run = pool.run(expected.code, expected.files)
        name = "faulty program reports what is stated" if expected.faulty else "program builds the model and prints the label"
        self.checks(config, expected.id, lambda: iter([Check(name, program_finding(run, expected))]))


def audit(folder: Path, *, workers: int = 1, pool: Pool | None = None, progress: Callable[[str], None] | None = None) -> Audit:
    """Re-check a dataset folder; `progress` hears the config of every row.  Programs run in `pool`, by default one of
    `workers`.  UsageError if the folder is no dataset."""
    manifest = open_manifest(folder)
    walk = _Walk(folder, manifest.proof_nodes, progress)
    found, hashes = walk.found, file_hashes(folder)
    for name in sorted(manifest.sha256.keys() | hashes.keys()):
        what = "is missing" if name not in hashes else "is not in the manifest" if name not in manifest.sha256 else "differs from the manifest"
        found.note("files", name, "file hash", None if manifest.sha256.get(name) == hashes.get(name) else what)
    walk.suites()
    walk.instances()
    with contextlib.nullcontext(pool) if pool else Pool(workers=workers, limits=_PATIENCE) as running:
        for config in ("sft", "cpt", "preference"):
            walk.texts(config, running, ahead=8 * running.workers)
    walk.quarantined()
    for config in CONFIGS:
        for split in dict.fromkeys([*SPLITS, *manifest.counts[config], *(s for c, s in walk.counts if c == config)]):
            stated, seen = manifest.counts[config].get(split, 0), walk.counts[config, split]
            found.note(config, split, "row count", None if seen == stated else f"{seen} rows, the manifest says {stated}")
    return found
