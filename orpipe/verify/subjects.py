"""What `orpipe compare` can be given: model files, programs, algebra, instances of a dataset; each read into a Problem."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orpipe.errors import DataError, NotFound, ParseError, Unsupported, UsageError
from orpipe.problem import Problem
from orpipe.verify.taxonomy import read_ending

ALGEBRA = (".txt", ".alg", ".algebra", ".md", ".tex")
_DATA_BYTES = 8 << 20


@dataclass(frozen=True)
class Read:
    """A model, or why there is none: Unsupported (ours to say), or `fault`, the model's own (a program that fails)."""

    problem: Problem | Unsupported | None
    kind: str
    fault: str = ""


def read(text: str, data: Path | None = None, seconds: float = 20.0) -> Read:
    """`text` names a .mps, .lp or .py file, algebra (.txt, .alg, .md, .tex) or an instance as FOLDER:ID; `.gz` may
    follow.  data: a JSON file or a folder, put beside a program; algebra is grounded with it.  Raises UsageError,
    ParseError or DataError with the next step."""
    folder, colon, identity = text.rpartition(":")
    if colon and Path(folder).is_dir():
        return Read(instance(Path(folder), identity), "instance")
    path = Path(text)
    if not path.is_file():
        raise UsageError(f"'{text}' is neither a file nor FOLDER:ID of a dataset's instance; name a .mps, .lp, .py or algebra file, "
                         "or a folder that 'orpipe generate' wrote, a colon and an id of its config 'instances'")
    name = path.name.removesuffix(".gz").lower()
    suffix = Path(name).suffix
    if suffix not in (".mps", ".lp", ".py", *ALGEBRA):
        raise UsageError(f"'{text}': what is it? Models end in .mps, .lp, .py or, for algebra, {', '.join(ALGEBRA)}")
    raw = path.read_bytes()
    try:
        content = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        raise ParseError(f"'{text}' is no UTF-8 text ({error}); name another file") from None
    if suffix == ".py":
        return program(content, attached(data), seconds)
    try:
        if suffix in ALGEBRA:
            return Read(algebra(content, data), "algebra")
        from orpipe.lp import read_lp
        from orpipe.mps import read_mps

        return Read(read_mps(content) if suffix == ".mps" else read_lp(content), suffix[1:])
    except Unsupported as error:
        return Read(error, suffix[1:])
    except ParseError as error:
        raise ParseError(f"{path.name}: {error}") from None


def algebra(text: str, data: Path | None) -> Problem:
    """What an answer's algebra states (orpipe.algebra.answer); `data`: a JSON file of sets and parameters by symbol, needed
    where the numbers do not stand in the text."""
    from orpipe.algebra.answer import algebra_answer

    if data is None or not data.is_file():
        try:
            return algebra_answer(text)
        except Unsupported as error:
            raise Unsupported(f"{error}; are its numbers in a file? give --data FILE.json with the sets and parameters by symbol") from None
    try:
        values = json.loads(data.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"'{data}' is no JSON ({error})") from None
    if not isinstance(values, dict):
        raise DataError(f"'{data}' must hold an object of sets and parameters by symbol")
    return algebra_answer(text, values)


def attached(data: Path | None) -> dict[str, str]:
    """The files to put beside a program: the JSON as data.json, or every text file of the folder."""
    if data is None:
        return {}
    if data.is_file():
        return {name: data.read_text(encoding="utf-8") for name in {data.name, "data.json"}}
    if not data.is_dir():
        raise UsageError(f"--data '{data}' does not exist")
    files, size = {}, 0
    for path in sorted(p for p in data.rglob("*") if p.is_file()):
        size += path.stat().st_size
        if size > _DATA_BYTES:
            raise UsageError(f"--data '{data}' holds more than {_DATA_BYTES >> 20} MiB; name the folder of the data files alone")
        try:
            files[path.relative_to(data).as_posix()] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    files.pop("program.py", None)
    return files


def program(code: str, files: Mapping[str, str], seconds: float) -> Read:
    """The model that a program solves, captured in the sandbox."""
    from orpipe.verify.sandbox import Limits, Pool

    with Pool(limits=Limits(seconds=seconds)) as pool:
        run = pool.run(code, files)
    ending = read_ending(run, run.library, files)
    if ending.blame == "none" and run.captured is not None:
        try:
            return Read(run.captured.problem(), "program")
        except Unsupported as error:
            return Read(error, "program")
    if ending.blame == "answer":
        return Read(None, "program", ending.reason)
    return Read(Unsupported(ending.reason or run.message or "no model was captured"), "program")


def instance(folder: Path, identity: str) -> Problem:
    """From the exact MPS of the config 'instances', with the auxiliaries that its family declares."""
    import pyarrow.parquet as pq

    from orpipe.mps import read_mps

    known: list[str] = []
    for path in sorted((folder / "instances").glob("*.parquet")):
        ids = pq.read_table(path, columns=["id"])["id"].to_pylist()
        known += ids
        if identity in ids:
            wanted = ["id", "family", "mps", "data", "structure_hash"]
            row = pq.read_table(path, columns=wanted, filters=[("id", "==", identity)]).to_pylist()[0]
            return with_auxiliaries(read_mps(row["mps"]), row)
    if not known:
        raise UsageError(f"'{folder}' holds no instances; name a folder written by 'orpipe generate'")
    raise NotFound.among("instance", identity, known, f"in '{folder}'")


def with_auxiliaries(problem: Problem, row: Mapping[str, Any]) -> Problem:
    """MPS does not say which columns are auxiliary; the family's formulation with the row's structure hash does.  Raises DataError
    for data that are no JSON."""
    from orpipe.families import families
    from orpipe.ground import ground, structure_hash

    if row["family"] not in families.names():
        return problem
    family = families[row["family"]]
    for formulation in family.formulations:
        model = family.symbolic(formulation)
        if structure_hash(model) == row["structure_hash"]:
            try:
                data = json.loads(row["data"])
            except (TypeError, ValueError, RecursionError) as error:
                raise DataError(f"the data of its instance are no JSON ({error})") from None
            try:
                made = ground(model, data)
            except DataError:
                return problem
            return replace(problem, decision=made.decision) if made.n_vars == problem.n_vars else problem
    return problem
