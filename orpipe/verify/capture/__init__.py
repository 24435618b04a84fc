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
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from orpipe.errors import OrpipeError, Unsupported
from orpipe.verify.captured import Captured, Rows

__all__ = [
    "LIBRARIES", "RECORDER", "Captured", "Library", "Recorder", "Rows", "announced", "discover", "hook", "install", "library",
    "put_off", "recorded", "rehearse", "written",
]

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
        sink(b"U", str(error).encode(errors="replace"))
    except MemoryError:
        raise
    except Exception as error:  # the program goes on: that its model cannot be read is not its fault
        sink(b"U", f"{library}: reading the model failed ({type(error).__name__}: {error})".encode(errors="replace"))


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
    aside: modules that the preloaded ones would take along if they were installed, at every fork's expense, though programs of
    this library have no use for them; one that imports them gets them.
    """

    name: str
    words: tuple[str, ...]
    preload: tuple[str, ...]
    rehearsal: str
    aside: tuple[str, ...] = ()


LIBRARIES: dict[str, Library] = {}
_HOOKS: dict[str, list[Callable[[ModuleType], None]]] = {}


def library(name: str, *, words: Sequence[str], preload: Sequence[str], rehearsal: str, aside: Sequence[str] = ()) -> None:
    if name in LIBRARIES:
        raise OrpipeError(f"two files claim the captured library '{name}'; rename one")
    LIBRARIES[name] = Library(name, tuple(words), tuple(preload), rehearsal, tuple(aside))


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


class _Later(ModuleType):
    """Stands for a module that is imported when first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def put_off(*names: str) -> Iterator[None]:
    """What is imported inside gets stand-ins for these modules, unless they are there.  For a process with one thread.

    A warm parent holds every file of this folder, and few need scipy: 14 MB that each fork copies, and 40 MB in pyomo's,
    which takes in all of scipy once a part is loaded.
    """
    absent = {name: _Later(name) for name in names if name not in sys.modules}
    for name, module in absent.items():
        parent, _, child = name.rpartition(".")
        if parent in absent:
            setattr(absent[parent], child, module)
    sys.modules.update(absent)
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


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
