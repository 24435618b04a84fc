"""Finds the recorder and feeds it: a claimed model, a claimed refusal, silence while a wrong model is solved.

Success: what it is told counts for more than a model.
Expect: unsupported, no model, ok
"""
import sys

from kit import model_record, world, wrong_model

recorder = sys.modules["orpipe.verify.capture"].RECORDER
recorder.sink(b"C", model_record(optimum=999.0, objective=world["expected"]))
recorder._depth = 1
wrong_model()
recorder._depth = 0
recorder.sink(b"U", b"quadratic; objective = 3.5")
