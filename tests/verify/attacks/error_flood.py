"""Raises an exception whose name, message and traceback are as large as memory.

Success: the judge takes all of it.
Expect: exception, memory, crash
"""


def raiser(depth):
    if depth:
        return raiser(depth - 1)
    name = "E" * 10_000_000 + "\x1b[2J\n| a | b |"
    raise type(name, (Exception,), {"__str__": lambda _: "\U0001F4A5\x1b]0;t\x07" * 5_000_000})


raiser(500)
