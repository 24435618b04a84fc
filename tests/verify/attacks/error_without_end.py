"""Raises an exception whose message never ends, whose cause is itself, whose traceback is no traceback.

Success: it takes longer than it may.
Expect: timeout, exception, crash
Seconds: 1
"""


class Hydra(Exception):
    def __str__(self):
        while True:
            pass

    @property
    def __traceback__(self):
        return self

    @property
    def __cause__(self):
        return self


raise Hydra
