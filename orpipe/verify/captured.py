"""A model as a program built it: numbers and names, and their form on the way out of the process that built it."""

from __future__ import annotations

import json
import math
import re
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orpipe.errors import ParseError

if TYPE_CHECKING:
    from orpipe.problem import Problem

_ARRAYS = {  # in the order they travel: name -> dtype
    "cost": "<f8", "lower": "<f8", "upper": "<f8", "integer": "|b1", "row_lower": "<f8", "row_upper": "<f8",
    "indptr": "<i8", "indices": "<i8", "data": "<f8",
}
_HEAD_LIMIT, _NAME_LIMIT = 4096, 1000
_RESIDUE = 1e-12
_WORD = re.compile(r"[a-z][\w.-]{0,39}", re.ASCII | re.IGNORECASE)


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
        """The same model as a Problem, each float read as its printed decimal, without what floats leave where terms cancel
        (-3.5e-18 beside 0.04): no coefficient, whichever library keeps it."""
        import scipy.sparse as sp

        from orpipe.problem import Problem

        shape = (len(self.rows), len(self.columns))
        # from_arrays works in place
        matrix = sp.csr_array((self.data, self.indices, self.indptr), shape=shape, copy=True)
        matrix.sum_duplicates()
        row = np.repeat(np.arange(shape[0]), np.diff(matrix.indptr))
        scale = np.zeros(shape[0])
        np.maximum.at(scale, row, np.abs(matrix.data))
        matrix.data = _settled(matrix.data, scale[row])
        return Problem.from_arrays(
            name=name, maximize=self.maximize, offset=self.offset, columns=self.columns, rows=self.rows,
            cost=_settled(self.cost, np.abs(self.cost).max(initial=0.0)), matrix=matrix,
            row_lower=_settled(self.row_lower, scale), row_upper=_settled(self.row_upper, scale), lower=self.lower, upper=self.upper,
            integer=self.integer,
        )

    def encode(self) -> bytes:
        """Head length, JSON head, arrays, names in UTF-8 with a NUL between."""
        names = "\0".join(name.replace("\0", "\N{REPLACEMENT CHARACTER}") for name in (*self.columns, *self.rows))
        text = names.encode("utf-8", errors="replace")
        head = json.dumps({
            "library": self.library, "interface": self.interface, "maximize": self.maximize, "offset": self.offset,
            "sizes": [len(self.columns), len(self.rows), self.data.size, len(text)],
        }).encode()
        arrays = (getattr(self, name).tobytes() for name in _ARRAYS)
        return b"".join([struct.pack("<I", len(head)), head, *arrays, text])

    @classmethod
    def decode(cls, raw: bytes) -> Captured:
        """Reads what `encode` wrote.  The writer is not trusted: anything inconsistent raises ParseError, in time and memory
        proportional to len(raw).  Names are told apart and cut to 1000 characters.
        """
        try:
            (length,) = struct.unpack_from("<I", raw)
            if length > _HEAD_LIMIT:
                raise ValueError("its head is too long")
            head = json.loads(raw[4:4 + length])
            if any(type(size) is not int or size < 0 for size in head["sizes"]):
                raise ValueError("sizes that are no counts")
            n, m, nnz, n_text = head["sizes"]
            counts = dict(zip(_ARRAYS, (n, n, n, n, m, m, m + 1, nnz, nnz), strict=True))
            if 4 + length + sum(count * np.dtype(_ARRAYS[k]).itemsize for k, count in counts.items()) + n_text != len(raw):
                raise ValueError("its sizes do not add up to its length")
            at, arrays = 4 + length, dict[str, Any]()
            for name, count in counts.items():
                # Copies: aligned, and not a view that keeps the whole message alive.
                arrays[name] = np.frombuffer(raw, _ARRAYS[name], count, at).copy()
                at += arrays[name].nbytes
            arrays["integer"] = arrays["integer"].view(np.uint8) != 0  # bytes other than 0 and 1 are no booleans
            names = raw[at:].decode("utf-8", errors="replace").split("\0", n + m) if n + m else []
            if len(names) != n + m or (n_text and not names):
                raise ValueError("names are missing or too many")
            words = str(head["library"]), str(head["interface"])
            if not all(_WORD.fullmatch(word) for word in words):
                raise ValueError("the library's name")
            names = [name[:_NAME_LIMIT] for name in names]
            found = cls(*words, head["maximize"] is True, float(head["offset"]), _distinct(names[:n], "x"),
                        _distinct(names[n:], "c"), **arrays)
            found._check()
        except (KeyError, TypeError, ValueError, struct.error, RecursionError, OverflowError) as error:
            raise ParseError(f"the captured model cannot be read ({error}); the program wrote to its channel") from None
        return found

    def _check(self) -> None:
        nnz = self.indices.size
        # Compared, not subtracted: differences of 64-bit numbers wrap around.
        outside = (self.indptr < 0) | (self.indptr > nnz)
        if self.indptr[0] != 0 or self.indptr[-1] != nnz or outside.any() or (self.indptr[1:] < self.indptr[:-1]).any():
            raise ValueError("row starts out of order")
        if ((self.indices < 0) | (self.indices >= len(self.columns))).any():
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


def _settled(values: np.ndarray, scale: np.ndarray | float) -> np.ndarray:
    """Values with zero for residues: below 1e-14 of the largest number beside them, and below what any solver takes."""
    return np.where((np.abs(values) < _RESIDUE) & (np.abs(values) <= _RESIDUE / 100 * scale), 0.0, values)


def _distinct(names: Sequence[str], letter: str) -> tuple[str, ...]:
    texts = [str(name) for name in names]
    counts = Counter(texts)
    if len(counts) == len(texts) and "" not in counts:
        return tuple(texts)
    found = []
    for k, name in enumerate(texts):
        if counts[name] > 1 or not name:
            name = f"{name or letter}#{k}"
            while name in counts:  # a name that looks like ours
                name += "#"
        found.append(name)
    return tuple(found)
