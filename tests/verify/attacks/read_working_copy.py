"""Reads the judge's own sources, tests and labels from the working copy.

Success: a source file of the judge's is read.
"""
import inspect
import os
import sys

from kit import attempt, gained, world

for path in ("orpipe/verify/judge.py", "pyproject.toml", "tests/test_sandbox.py", "data/reference"):
    path = os.path.join(world["repository"], path)
    if attempt(lambda path=path: open(path).read()) or attempt(os.listdir, path):
        gained(path)
for name, module in list(sys.modules.items()):
    if name.startswith("orpipe") and attempt(inspect.getsource, module):
        gained(f"the source of {name}")
