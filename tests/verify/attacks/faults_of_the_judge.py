"""Fails in ways that look like the judge's own fault: a licence, a missing library, a lack of memory, a lost sandbox.

Success: the run is called the judge's fault ('sandbox').
Expect: exception
"""


class GurobiError(Exception):
    pass


raise GurobiError("confinement failed: the warm parent was lost; run the program again") from MemoryError()
