"""Drawing exact decimals: every number a sampler makes prints exactly and is read back exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Rng = np.random.Generator


def tidy(value: Fraction | float | int, digits: int = 0) -> int | float:
    """`value` rounded to a decimal with `digits` places, as int when whole."""
    scaled = round(Fraction(value) * 10**digits)
    return scaled // 10**digits if scaled % 10**digits == 0 else float(f"{scaled / 10**digits:.{digits}f}")


def number(rng: Rng, low: float, high: float, digits: int = 0) -> int | float:
    """One uniform decimal in [low, high] with `digits` places."""
    unit = 10**digits
    return tidy(Fraction(int(rng.integers(round(low * unit), round(high * unit) + 1)), unit), digits)


def numbers(rng: Rng, low: float, high: float, count: int, digits: int = 0) -> list[int | float]:
    return [number(rng, low, high, digits) for _ in range(count)]


def by_label(labels: Sequence[Any], values: Sequence[Any]) -> dict[str, Any]:
    """{label: value}; numbered labels become strings, as JSON keys are."""
    return {str(label): value for label, value in zip(labels, values, strict=True)}


def table(rows: Sequence[Any], cols: Sequence[Any], values: Sequence[Sequence[Any]]) -> dict[str, dict[str, Any]]:
    return {str(r): by_label(cols, line) for r, line in zip(rows, values, strict=True)}


def drawn_table(rng: Rng, rows: Sequence[Any], cols: Sequence[Any], low: float, high: float, digits: int = 0) -> dict[str, dict[str, Any]]:
    return table(rows, cols, [numbers(rng, low, high, len(cols), digits) for _ in rows])


def split(rng: Rng, total: int, parts: int, least: int = 1) -> list[int]:
    """`total` as a sum of `parts` whole numbers of at least `least`."""
    spare = total - parts * least
    cuts = np.sort(rng.integers(0, spare + 1, parts - 1))
    return [int(v) + least for v in np.diff(np.concatenate([[0], cuts, [spare]]))]


def plane(rng: Rng, count: int, width: int = 100) -> list[tuple[int, int]]:
    """Distinct points on a square grid."""
    seen: dict[tuple[int, int], None] = {}
    while len(seen) < count:
        seen[(int(rng.integers(0, width + 1)), int(rng.integers(0, width + 1)))] = None
    return list(seen)


def distance(a: tuple[int, int], b: tuple[int, int]) -> int:
    """Euclidean distance rounded to a whole number: the rounded value is the datum, there is no other."""
    return round(float(np.hypot(a[0] - b[0], a[1] - b[1])))
