"""Model files as Problems: LP and MPS, plain or gzipped, told apart by their suffix."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

from orpipe.errors import ParseError, UsageError
from orpipe.lp import read_lp
from orpipe.mps import read_mps
from orpipe.problem import Problem

_READERS = {".lp": read_lp, ".mps": read_mps}
SUFFIXES = tuple(f"{kind}{packed}" for kind in _READERS for packed in ("", ".gz"))


def read_model(path: Path | str) -> Problem:
    """Raises ParseError (with the line where there is one), Unsupported for what is not linear, UsageError for a suffix
    that is none of SUFFIXES or a path that cannot be read."""
    path = Path(path)
    name = path.name.lower()
    reader = _READERS.get(Path(name.removesuffix(".gz")).suffix)
    if reader is None:
        raise UsageError(f"'{path}' is no model file; its name must end in {', '.join(SUFFIXES)}")
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if name.endswith(".gz") else content).decode("utf-8-sig")
    except gzip.BadGzipFile as error:
        raise ParseError(f"not gzipped, in spite of its name ({error})") from None
    except (EOFError, zlib.error) as error:
        raise ParseError(f"damaged gzip file ({error})") from None
    except UnicodeDecodeError as error:
        line = error.object[:error.start].count(b"\n") + 1
        raise ParseError(f"line {line}: not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}") from None
    return _finite(reader, text)


def _finite(reader: Callable[[str], Problem], text: str) -> Problem:
    try:
        problem = reader(text)
        _ = problem.cost  # made here, so that it is known to be finite
        return problem
    except OverflowError:
        raise ParseError("a number is beyond the range of floats; rescale the model") from None


def read_text(text: str) -> Problem:
    """A model whose file name is not known: MPS where its first line that is no comment starts a section of MPS, else LP."""
    first = next((x.split()[0] for x in text.splitlines() if x.strip() and not x.startswith("*")), "")
    return _finite(read_mps if first in ("NAME", "ROWS", "OBJSENSE") else read_lp, text)


def model_files(path: Path) -> list[Path]:
    """The path itself, or all model files below a folder, sorted.  Raises UsageError for a folder that has none."""
    if not path.is_dir():
        return [path]
    found = sorted(p for p in path.rglob("*") if p.is_file() and p.name.lower().endswith(SUFFIXES))
    if not found:
        raise UsageError(f"no model file ({', '.join(SUFFIXES)}) in this folder")
    return found
