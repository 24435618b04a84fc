"""Silences the recorder, solves a wrong model and prints the right optimum.

Success: it is taken for right, or for the judge's fault.
Expect: no model
"""
import gc
import sys

from kit import world, wrong_model

for found in gc.get_objects():
    if type(found).__name__ == "Recorder":
        found.sink = None
sys.modules["orpipe.verify.capture"].RECORDER.sink = None
wrong_model()
print("optimal_value =", world["expected"])
