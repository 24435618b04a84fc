"""Reads the home folder of whoever judges.

Success: a name or a file in it is seen.
"""
import os

from kit import attempt, gained, world

for folder in (world["home"], os.path.dirname(world["secret"])):
    names = attempt(os.listdir, folder)
    if names is not None:
        gained(f"the names in {folder}: {names[:3]}")
text = attempt(lambda: open(world["secret"]).read())
if text:
    gained(text)
