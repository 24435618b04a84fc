"""The system call filter, interpreted here instruction by instruction, for both machines it has a table for."""

from __future__ import annotations

import pytest

from orpipe.verify import seccomp


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_answers_as_meant(machine: str) -> None:
    arch, denied, clone, clone3, prctl, prlimit = seccomp._MACHINES[machine]
    code = seccomp.program(machine)

    def answer(number: int, argument: int = 0, architecture: int = arch) -> int:
        word, at = 0, 0
        while True:
            kind, yes, no, value = code[at]
            if kind == 0x06:
                return value
            if kind == 0x20:
                word = {0: number, 4: architecture, 16: argument}[value]
                at += 1
                continue
            at += 1 + (yes if {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[kind] else no)

    allow, refuse, kill = 0x7FFF0000, 0x00050001, 0x80000000
    special = {clone, clone3, prctl, prlimit}
    for number in set(range(470)) - special:
        assert answer(number) == (refuse if number in {*denied.values(), *seccomp._COMMON.values()} else allow), number
    assert answer(clone, 0x10000) == allow and answer(clone, 17) == refuse and answer(clone3) == 0x00050026
    assert answer(prctl, 1) == refuse and answer(prctl, 15) == allow
    assert answer(prlimit, 0) == allow and answer(prlimit, 1) == refuse
    assert answer(1, architecture=1) == kill and answer(0x40000001) == kill


def test_a_machine_without_a_table_is_refused() -> None:
    with pytest.raises(OSError, match="riscv64"):
        seccomp.program("riscv64")
