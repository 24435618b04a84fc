"""The system call filter, interpreted here instruction by instruction, for both machines it has a table for."""

from __future__ import annotations

import pytest

from orpipe.verify import seccomp
from orpipe.verify.seccomp import ALLOW, ENOSYS, EPERM, KILL, MACHINES


def answer(code: list[tuple[int, int, int, int]], arch: int, number: int, first: int = 0, second: int = 0) -> int:
    word, at = 0, 0
    for _ in range(200):
        kind, yes, no, value = code[at]
        at += 1
        if kind == 0x06:
            return value
        if kind == 0x20:
            word = {0: number, 4: arch, 16: first, 24: second}[value]
        elif kind == 0x05:
            at += value
        else:
            at += yes if {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[kind] else no
    raise AssertionError("the filter is not short")


@pytest.mark.parametrize("machine", list(MACHINES))
@pytest.mark.parametrize("marks", [True, False])
def test_the_filter_answers_as_meant(machine: str, marks: bool) -> None:
    m, code = MACHINES[machine], seccomp.program(machine, marks)

    def ask(number: int, first: int = 0, second: int = 0) -> int:
        return answer(code, m.arch, number, first, second)

    decided = {m.clone, m.prctl, m.prlimit, m.fcntl, m.affinity, 435}
    denied = set(m.denied.values()) | (set() if marks else set(m.marks.values()))
    assert not decided & denied and len(set(m.denied.values())) == len(m.denied)
    for number in set(range(452)) - decided:
        assert ask(number) == (EPERM if number in denied else ALLOW), number
    assert {ask(number) for number in range(452, 600)} == {ENOSYS} == {ask(435)}
    assert ask(m.clone, 0x10000) == ALLOW and ask(m.clone, 17) == EPERM and ask(m.clone, 0x20000000) == EPERM
    assert [ask(m.prctl, option) for option in (1, 4, 15, 22, 38)] == [EPERM, EPERM, ALLOW, ALLOW, ALLOW]
    for number in (m.prlimit, m.affinity):
        assert ask(number, 0) == ALLOW and ask(number, 1) == EPERM == ask(number, 0xFFFFFFFF)
    assert [ask(m.fcntl, 3, command) for command in (1, 2, 3, 4, 6, 1030)] == [ALLOW] * 6
    assert [ask(m.fcntl, 3, command) for command in (8, 10, 15, 1024, 1026)] == [EPERM] * 5
    assert answer(code, 1, 1) == KILL and ask(0x40000001) == KILL and ask(0xFFFFFFFF) == KILL


def test_a_machine_without_a_table_is_refused() -> None:
    with pytest.raises(OSError, match="riscv64"):
        seccomp.program("riscv64")
