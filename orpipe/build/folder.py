"""A finished dataset folder as the hub and load_dataset see it: its files, its configs and splits, their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from orpipe.errors import UsageError

_LOCAL_ONLY = {"timings.json"}  # tells of the machine, not of the data


@dataclass(frozen=True, slots=True)
class Split:
    """One split of one config: rows and columns from the Parquet metadata of its shards."""

    config: str
    split: str
    rows: int
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Folder:
    """A dataset folder that has been checked: files by their path in the repository, splits by README.md's configs."""

    root: Path
    files: Mapping[str, Path]
    splits: tuple[Split, ...]

    @classmethod
    def read(cls, root: Path) -> Folder:
        """The folder at `root`; UsageError if it is no finished dataset or would not load as its card says."""
        if not root.is_dir():
            raise UsageError(f"folder '{root}' does not exist; make a dataset with 'orpipe generate --out {root}'")
        for name in ("README.md", "manifest.json"):
            if not (root / name).is_file():
                cure = f"let 'orpipe generate --out {root}' run to its end"
                raise UsageError(f"'{root}' is no finished dataset: {name} is missing; {cure}")
        files = {
            path.relative_to(root).as_posix(): path
            for path in sorted(root.rglob("*"))
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(root).parts)
        }
        files = {name: path for name, path in files.items() if name not in _LOCAL_ONLY}
        splits, used = [], set()
        for config, split, patterns in _configs(root / "README.md"):
            found = {path.relative_to(root).as_posix() for pattern in patterns for path in root.glob(pattern)}
            names = sorted(found & files.keys())
            if not names:
                place = f"config '{config}', split '{split}' in README.md"
                raise UsageError(f"'{root}': no file matches {', '.join(patterns)} ({place}); generate it again")
            used.update(names)
            splits.append(_split(root, config, split, names))
        unlisted = sorted(n for n in files if n.endswith(".parquet") and n not in used)
        stray = [n for n in unlisted if _shape(root, n).rows]  # an empty split is written, and not listed
        if stray:
            cure = "remove it or generate into an empty folder"
            raise UsageError(f"'{root}/{stray[0]}' belongs to no config in README.md; {cure}")
        return cls(root, files, tuple(splits))


def _configs(card: Path) -> Iterator[tuple[str, str, list[str]]]:
    """(config, split, patterns) for each entry of `configs` in the card's YAML head."""
    wrong = UsageError(f"'{card}' lists no configs in its YAML head; run 'orpipe generate' again to write it")
    head = card.read_text(encoding="utf-8").split("---\n", 2)
    try:
        entries = yaml.safe_load(head[1])["configs"] if len(head) == 3 and not head[0].strip() else []
        configs = [(c["config_name"], d["split"], d["path"]) for c in entries for d in c["data_files"]]
    except (yaml.YAMLError, KeyError, TypeError):
        raise wrong from None
    if not configs:
        raise wrong
    for config, split, path in configs:
        patterns = [path] if isinstance(path, str) else [str(p) for p in path]
        if any(PurePosixPath(p).is_absolute() for p in patterns):
            raise wrong
        yield str(config), str(split), patterns


def _split(root: Path, config: str, split: str, names: list[str]) -> Split:
    shapes = {name: _shape(root, name) for name in names}
    columns = shapes[names[0]].columns
    for name, shape in shapes.items():
        if not shape.rows:  # `datasets` stops at it, and with it the whole config
            raise UsageError(f"'{root}/{name}' has no rows and so cannot be loaded; leave its split out of README.md")
        if shape.columns != columns:
            raise UsageError(f"'{root}/{name}' has other columns than '{names[0]}'; generate into an empty folder")
    return Split(config, split, sum(shape.rows for shape in shapes.values()), columns)


@dataclass(frozen=True, slots=True)
class _Shape:
    rows: int
    columns: tuple[str, ...]


def _shape(root: Path, name: str) -> _Shape:
    try:
        with pq.ParquetFile(root / name) as file:
            return _Shape(file.metadata.num_rows, tuple(file.schema_arrow.names))
    except (pa.ArrowException, OSError) as error:
        why = str(error).partition("\n")[0]
        raise UsageError(f"'{root}/{name}' is not readable as Parquet ({why}); generate it again") from None
