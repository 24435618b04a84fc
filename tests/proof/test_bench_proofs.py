"""The bench of proofs counts what it says."""

from __future__ import annotations

from orpipe.families import families
from orpipe.testing.bench_proofs import Proof, enlarged, problems, table


def test_levels_beyond_are_larger() -> None:
    family = families["assignment"]
    sizes = [p.n_vars for _, p in problems(family, 1, 2)]
    assert len(sizes) == 6 and sizes[-1] > sizes[-2] > sizes[0]
    assert enlarged(family, 2)["agents"] == family.levels[-1]["agents"] + 2 * (family.levels[-1]["agents"] - family.levels[-2]["agents"])


def test_the_table_tells_shares_and_misses_apart() -> None:
    proofs = [Proof("a", 4, 90, 100, True, 3, 0.01), Proof("b", 4, 95, 100, False, 9, 0.5), Proof("a", 5, 120, 250, True, 3, 0.02)]
    shown = table(proofs).splitlines()
    assert "1 of 2 (50.0%)" in shown[2] and shown[2].endswith("| b |")
    assert "beyond the levels, over 100, up to 250 variables | 1 of 1 (100.0%)" in shown[3]
