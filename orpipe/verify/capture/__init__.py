"""Taking the model a program built out of the library it used, in memory and exact.

One file per library in this folder.  A file declares its `Library` (which words in an import line announce it, what
the warm parent imports before it forks) and, with `@hook(module)`, functions that patch the library's solve entry
points as soon as that module is imported, early or late.  A patched entry point reads the model just before it is
solved and hands it to RECORDER; the last solved state counts.  Nothing is pickled: a model travels as numbers and
names, checked when read back.

Entry points also send every solve to a solver that runs inside the process with one thread and no gap, so that programs
written for other solvers run to their end; what the program then sees is the library's own answer.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import math
import pkgutil
import re
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from orpipe.errors import OrpipeError, ParseError, Unsupported

if TYPE_CHECKING:
    from orpipe.problem import Problem

_ARRAYS = {  # in the order they travel: name -> dtype
    "cost": "<f8", "lower": "<f8", "upper": "<f8", "integer": "|b1", "row_lower": "<f8", "row_upper": "<f8",
    "indptr": "<i8", "indices": "<i8", "data": "<f8",
}
_LIMIT = 1 << 26  # entries of an array that a reader accepts


@dataclass(frozen=True, eq=False)
class Captured:
    """A linear model as the library held it: n columns, m rows, coefficients in compressed rows (indptr (m+1,),
    indices and data (nnz,); a column may stand twice in a row).  No bound is ±inf in the float arrays.
    """

    library: str
    interface: str
    maximize: bool
    offset: float
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cost: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    integer: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray

    @classmethod
    def of(cls, library: str, interface: str, *, maximize: bool, offset: float, columns: Sequence[str],
           rows: Sequence[str], **arrays: Any) -> Captured:
        """Converts the arrays; equal or empty names are told apart by their position ("x#3", "c#0")."""
        typed: dict[str, Any] = {
            name: np.ascontiguousarray(arrays[name], dtype=dtype) for name, dtype in _ARRAYS.items()}
        names: dict[str, Any] = {"columns": _distinct(columns, "x"), "rows": _distinct(rows, "c")}
        return cls(library, interface, bool(maximize), float(offset), **names, **typed)

    @property
    def idle(self) -> np.ndarray:
        """(n,) True for columns that no row and no objective term uses."""
        used = self.cost != 0
        used[self.indices[self.data != 0]] = True
        return ~used

    def problem(self, name: str = "captured") -> Problem:
        """The same model as a Problem, each float read as its printed decimal."""
        import scipy.sparse as sp

        from orpipe.problem import Problem

        shape = (len(self.rows), len(self.columns))
        # from_arrays works in place
        matrix = sp.csr_array((self.data, self.indices, self.indptr), shape=shape, copy=True)
        return Problem.from_arrays(
            name=name, maximize=self.maximize, offset=self.offset, columns=self.columns, rows=self.rows, cost=self.cost,
            matrix=matrix, row_lower=self.row_lower, row_upper=self.row_upper, lower=self.lower, upper=self.upper,
            integer=self.integer,
        )

    def encode(self) -> bytes:
        head = json.dumps({
            "library": self.library, "interface": self.interface, "maximize": self.maximize, "offset": self.offset,
            "columns": self.columns, "rows": self.rows, "sizes": [getattr(self, name).size for name in _ARRAYS],
        }).encode()
        return b"".join([struct.pack("<I", len(head)), head, *(getattr(self, name).tobytes() for name in _ARRAYS)])

    @classmethod
    def decode(cls, raw: bytes) -> Captured:
        """Reads what `encode` wrote.  The writer is not trusted: anything inconsistent raises ParseError."""
        try:
            (length,) = struct.unpack_from("<I", raw)
            head = json.loads(raw[4:4 + length])
            at = 4 + length
            arrays: dict[str, Any] = {}
            for (name, dtype), size in zip(_ARRAYS.items(), head["sizes"], strict=True):
                if not 0 <= size <= _LIMIT:
                    raise ValueError("an array is too large")
                arrays[name] = np.frombuffer(raw, dtype=dtype, count=size, offset=at)
                at += size * np.dtype(dtype).itemsize
            names: dict[str, Any] = {key: tuple(head[key]) for key in ("columns", "rows")}
            if at != len(raw) or not all(isinstance(name, str) for both in names.values() for name in both):
                raise ValueError("wrong length or names")
            arrays["integer"] = arrays["integer"].view(np.uint8) != 0  # bytes other than 0 and 1 are no booleans
            found = cls(str(head["library"]), str(head["interface"]), head["maximize"] is True, float(head["offset"]),
                        **names, **arrays)
            found._check()
        except (KeyError, TypeError, ValueError, struct.error, RecursionError, OverflowError) as error:
            raise ParseError(f"the captured model cannot be read ({error}); the program wrote to its channel") from None
        return found

    def _check(self) -> None:
        n, m = len(self.columns), len(self.rows)
        sizes = {"cost": n, "lower": n, "upper": n, "integer": n, "row_lower": m, "row_upper": m, "indptr": m + 1}
        for name, size in sizes.items():
            if getattr(self, name).size != size:
                raise ValueError(f"{name} has {getattr(self, name).size} entries instead of {size}")
        if self.indptr[0] != 0 or self.indptr[-1] != self.indices.size or (np.diff(self.indptr) < 0).any():
            raise ValueError("row starts out of order")
        if self.indices.size != self.data.size or ((self.indices < 0) | (self.indices >= n)).any():
            raise ValueError("column numbers out of range")
        if not (math.isfinite(self.offset) and np.isfinite(self.cost).all() and np.isfinite(self.data).all()):
            raise ValueError("coefficients that are not finite")
        if any(np.isnan(getattr(self, name)).any() for name in ("lower", "upper", "row_lower", "row_upper")):
            raise ValueError("bounds that are not numbers")


class Rows:
    """Collects rows one by one for `Captured.of`."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._starts = [0]
        self._indices: list[int] = []
        self._data: list[float] = []

    def add(self, name: str, indices: Sequence[int], values: Sequence[float], lower: float, upper: float) -> None:
        self.names.append(name)
        self._indices.extend(indices)
        self._data.extend(values)
        self._starts.append(len(self._indices))
        self._lower.append(lower)
        self._upper.append(upper)

    def arrays(self) -> dict[str, Any]:
        return {"rows": self.names, "row_lower": self._lower, "row_upper": self._upper, "indptr": self._starts,
                "indices": self._indices, "data": self._data}


def _distinct(names: Sequence[str], letter: str) -> tuple[str, ...]:
    texts = [str(name) for name in names]
    repeated = {name for name, count in Counter(texts).items() if count > 1 or not name}
    if not repeated:
        return tuple(texts)
    return tuple(f"{name or letter}#{k}" if name in repeated else name for k, name in enumerate(texts))


# --------------------------------------------------------------------------------------------------- recording a solve


@dataclass
class Recorder:
    """Where entry points report.  `sink` gets (kind, payload): b"C" an encoded model, b"U" why a model could not be
    taken.

    Inert while sink is None, as in the warm parent.
    """

    sink: Callable[[bytes, bytes], None] | None = None
    n_solves: int = 0
    under_way: str = ""  # the library of the outermost solve that is running
    _depth: int = field(default=0, repr=False)

    @contextmanager
    def solving(self, library: str, read: Callable[[], Captured]) -> Iterator[None]:
        """Around a solve: reads the model unless a solve of an outer library is already under way."""
        if self._depth == 0 and self.sink is not None:
            self.n_solves += 1
            _report(self.sink, library, read)
        # Not per thread: HiGHS may be run by a helper thread of the outer library's solve.
        self._depth += 1
        self.under_way = self.under_way or library
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self.under_way = ""

    def writing(self, library: str, read: Callable[[], Captured]) -> None:
        """At a model's way to a file: it counts as long as nothing is solved."""
        if self._depth == 0 and self.n_solves == 0 and self.sink is not None:
            _report(self.sink, library, read)


def _report(sink: Callable[[bytes, bytes], None], library: str, read: Callable[[], Captured]) -> None:
    try:
        sink(b"C", read().encode())
    except Unsupported as error:
        sink(b"U", str(error).encode())
    except MemoryError:
        raise
    except Exception as error:  # the program goes on: that its model cannot be read is not its fault
        sink(b"U", f"{library}: reading the model failed ({type(error).__name__}: {error})".encode())


RECORDER = Recorder()


def recorded(owner: Any, method: str, library: str, read: Callable[..., Captured],
             before: Callable[..., Any] | None = None) -> None:
    """Patch owner.method(subject, ...): read(subject, ...) is recorded, before(subject, ...) runs, then the original.

    `read` stays reachable as owner.method.read.
    """
    original = getattr(owner, method)

    @functools.wraps(original)
    def entry(*args: Any, **kwargs: Any) -> Any:
        with RECORDER.solving(library, lambda: read(*args, **kwargs)):
            if before is not None:
                before(*args, **kwargs)
            return original(*args, **kwargs)

    vars(entry)["read"] = read
    setattr(owner, method, entry)


def written(owner: Any, method: str, library: str, read: Callable[..., Captured],
            counts: Callable[..., bool] = lambda *_, **__: True) -> None:
    """Patch owner.method(subject, ...), which writes a model: read(subject) is recorded where counts(subject, ...)."""
    original = getattr(owner, method)

    @functools.wraps(original)
    def entry(subject: Any, *args: Any, **kwargs: Any) -> Any:
        if counts(subject, *args, **kwargs):
            RECORDER.writing(library, lambda: read(subject))
        return original(subject, *args, **kwargs)

    setattr(owner, method, entry)


# ------------------------------------------------------------------------------------------ libraries and their hooks


@dataclass(frozen=True, slots=True)
class Library:
    """What a warm parent is made for.

    words: any of them as a word in an import line announces the library.  preload: modules imported before forking.
    rehearsal: a small program that builds and solves as real ones do; run before forking, it leaves the interpreter
    with the late imports made and the hot code specialised, which halves the memory that each child must copy.
    """

    name: str
    words: tuple[str, ...]
    preload: tuple[str, ...]
    rehearsal: str


LIBRARIES: dict[str, Library] = {}
_HOOKS: dict[str, list[Callable[[ModuleType], None]]] = {}


def library(name: str, *, words: Sequence[str], preload: Sequence[str], rehearsal: str) -> None:
    if name in LIBRARIES:
        raise OrpipeError(f"two files claim the captured library '{name}'; rename one")
    LIBRARIES[name] = Library(name, tuple(words), tuple(preload), rehearsal)


def hook(module: str) -> Callable[[Callable[[ModuleType], None]], Callable[[ModuleType], None]]:
    """The function patches `module`, given as its argument, right after its import; several do so file after file."""

    def register(function: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
        _HOOKS.setdefault(module, []).append(function)
        return function

    return register


@functools.cache
def discover() -> dict[str, Library]:
    """Libraries by name, from every file of this folder."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(LIBRARIES.items()))


_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+(.+)$", re.MULTILINE)


def announced(program: str) -> str:
    """The name of the library that the program's import lines announce first, "" for none."""
    libraries = discover()
    for line in _IMPORT.findall(program):
        words = set(re.findall(r"\w+", line))
        for name, found in libraries.items():
            if words & set(found.words):
                return name
    return ""


class _Finder(importlib.abc.MetaPathFinder):
    """Runs a module's hook when its import ends."""

    def __init__(self) -> None:
        self._busy: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name not in _HOOKS or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, _HOOKS[name])
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, inner: Any, after: list[Callable[[ModuleType], None]]) -> None:
        self._inner, self._after = inner, after

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        for function in self._after:
            function(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def rehearse(found: Library, times: int = 10) -> str:
    """Run a library's rehearsal in this process, recording to nowhere; "" or the error.  It must leave no thread
    behind.
    """
    code = compile(found.rehearsal, "rehearsal", "exec")
    RECORDER.sink = lambda kind, payload: None
    try:
        for _ in range(times):
            exec(code, {"__name__": "rehearsal"})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        RECORDER.sink, RECORDER.n_solves = None, 0
    return ""


def install() -> None:
    """Hook every library, now if it is imported, else when it will be.  Meant for a process that runs programs only."""
    discover()
    sys.meta_path.insert(0, _Finder())
    for name, functions in _HOOKS.items():
        for function in functions if name in sys.modules else ():
            function(sys.modules[name])
