"""Arrays of exact rationals: integer numerators over one common denominator.

Numerators are int64 while everything fits and Python integers (dtype object) beyond that, so that arithmetic is
vectorised in the common case and never overflows in the rare one.  Floats are read as the decimal they print
(0.35 is 35/100, not its binary neighbour): instance data are decimals, and that is the number a text shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

_LIMIT = 2**62
Number = int | float | Fraction | Decimal


def fraction(value: Number | str) -> Fraction:
    """The exact value of a number as printed (floats by their shortest decimal).  Raises ValueError for nan and inf."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str, np.integer, np.floating)):
        raise ValueError(f"not a number: {value!r}")
    if isinstance(value, (float, np.floating)):
        return Fraction(repr(float(value)))
    try:
        return Fraction(int(value) if isinstance(value, np.integer) else value)
    except OverflowError:
        raise ValueError(f"not a finite number: {value!r}") from None


def decimal_text(value: Fraction) -> str | None:
    """The finite decimal expansion of a fraction, or None if it has none."""
    den, twos, fives = value.denominator, 0, 0
    while den % 2 == 0:
        den //= 2
        twos += 1
    while den % 5 == 0:
        den //= 5
        fives += 1
    if den != 1:
        return None
    digits = max(twos, fives)
    if digits == 0:
        return str(value.numerator)
    scaled = abs(value.numerator) * 10**digits // value.denominator
    text = str(scaled).rjust(digits + 1, "0")
    return ("-" if value < 0 else "") + text[:-digits] + "." + text[-digits:]


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """num / den elementwise; num is an integer ndarray of any shape (int64 or object), den a positive Python int."""

    num: np.ndarray
    den: int = 1

    @classmethod
    def of(cls, values: Any) -> Exact:
        """From numbers (scalar, nested lists or ndarray), each read as its printed decimal.  Raises ValueError for
        anything else: text, booleans, nan, lists of unequal length."""
        # lists go through dtype object: numpy would read [2**63, 0.5] and [True, 1] as floats and integers
        array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
        kinds = set(map(type, array.ravel().tolist())) if array.dtype == object else {_KIND.get(array.dtype.kind)}
        if kinds <= {int, float}:
            fast = _decimals(array) if float in kinds else _whole(array)
            if fast is not None:
                return fast
        flat = [_number(v) for v in array.ravel().tolist()]
        den = math.lcm(*(f.denominator for f in flat)) if flat else 1
        num = np.array([f.numerator * (den // f.denominator) for f in flat], dtype=object).reshape(array.shape)
        return cls(_shrink(num), den)

    @classmethod
    def scalar(cls, value: Number | str) -> Exact:
        f = fraction(value)
        return cls(np.array(f.numerator, dtype=np.int64 if abs(f.numerator) < _LIMIT else object), f.denominator)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.num.shape

    def peak(self) -> int:
        """The largest absolute numerator."""
        return max(int(self.num.max()), -int(self.num.min())) if self.num.size else 0

    def over(self, den: int) -> np.ndarray:
        """Numerators over another denominator, a multiple of this one."""
        return self.num if den == self.den else _times(self.num, den // self.den, self.peak())

    def __neg__(self) -> Exact:
        return Exact(_array(-self.num), self.den)

    def __add__(self, other: Exact) -> Exact:
        den = math.lcm(self.den, other.den)
        a, b = self.over(den), other.over(den)
        if a.dtype != object and b.dtype != object and \
                self.peak() * (den // self.den) + other.peak() * (den // other.den) >= _LIMIT:
            a = a.astype(object)
        return Exact(_array(a + b), den)

    def __sub__(self, other: Exact) -> Exact:
        return self + (-other)

    def __mul__(self, other: Exact) -> Exact:
        a, b = self.num, other.num
        if a.dtype != object and b.dtype != object and self.peak() * other.peak() >= _LIMIT:
            a = a.astype(object)
        return Exact(_array(a * b), self.den * other.den)

    def reciprocal(self) -> Exact:
        """1/x elementwise; ZeroDivisionError if any is zero."""
        if (self.num == 0).any():
            raise ZeroDivisionError("division by zero in the data")
        nums = [int(v) for v in self.num.ravel()]
        common = math.lcm(*nums) if nums else 1
        inverse = np.array([common // n * self.den for n in nums], dtype=object).reshape(self.num.shape)
        return Exact(_shrink(inverse), common)

    def __getitem__(self, key: Any) -> Exact:
        return Exact(_array(self.num[key]), self.den)

    def float(self) -> np.ndarray:
        """Nearest floats, shape of num (correctly rounded: the float that a program's literal gives)."""
        if self.num.dtype != object and self.den < 2**53 and self.peak() < 2**53:
            return self.num / self.den
        flat = [int(v) for v in self.num.ravel()]
        return np.array([float(Fraction(v, self.den)) for v in flat], dtype=np.float64).reshape(self.num.shape)

    def fractions(self) -> list[Fraction]:
        return [Fraction(int(v), self.den) for v in self.num.ravel()]

    def reduced(self) -> Exact:
        """The same values over the smallest common denominator."""
        if self.den == 1 or not self.num.size:
            return Exact(self.num, 1 if not self.num.size else self.den)
        flat = self.num.ravel()
        common = int(np.gcd.reduce(flat)) if flat.dtype != object else math.gcd(*(int(v) for v in flat))
        if common == 0:
            return Exact(self.num, 1)
        divisor = math.gcd(self.den, common)
        return self if divisor == 1 else Exact(_shrink(_array(self.num // divisor)), self.den // divisor)


def concatenate(parts: Sequence[Exact]) -> Exact:
    den = math.lcm(*(p.den for p in parts)) if parts else 1
    nums = [np.atleast_1d(p.over(den)) for p in parts]
    return Exact(np.concatenate(nums) if nums else np.zeros(0, np.int64), den)


_KIND = {"i": int, "u": int, "f": float}


def _number(value: Any) -> Fraction:
    """`fraction`, but text is no number among data."""
    if isinstance(value, str):
        raise ValueError(f"not a number: {value!r}")
    return fraction(value)


def _whole(array: np.ndarray) -> Exact | None:
    """Integers that fit; None for larger ones."""
    if not array.size:
        return Exact(array.astype(np.int64))
    if max(int(array.max()), -int(array.min())) >= _LIMIT:
        return None
    return Exact(array.astype(np.int64))


def _decimals(array: np.ndarray) -> Exact | None:
    """Decimals of up to six places: below 2**52 the float nearest to k/10**d tells k.  None for any other numbers."""
    try:
        array = array.astype(np.float64)
    except OverflowError:
        return None
    if not np.isfinite(array).all():
        raise ValueError("numbers must be finite")
    for digits in range(7):
        scaled = np.rint(array * 10.0**digits)
        if (np.abs(scaled) < 2**52).all() and (scaled / 10.0**digits == array).all():
            return Exact(scaled.astype(np.int64), 10**digits)
    return None


def _array(value: Any) -> np.ndarray:
    """Arithmetic on 0-d arrays gives scalars (and Python integers from dtype object): back to an array."""
    if isinstance(value, np.ndarray):
        return value
    return np.array(value, dtype=np.int64 if isinstance(value, np.integer) else object)


def _times(num: np.ndarray, factor: int, peak: int) -> np.ndarray:
    if num.dtype != object and max(peak, 1) * factor >= _LIMIT:
        num = num.astype(object)
    return _array(num * factor)


def _shrink(num: np.ndarray) -> np.ndarray:
    if num.dtype == object and all(abs(int(v)) < _LIMIT for v in num.ravel()):
        return num.astype(np.int64)
    return num
