"""Replaces what makes a model into bytes: the encoder, json, struct, numpy, the data type of its arrays.

Success: a claim beside the model counts.
Expect: ok, crash, unsupported, exception
"""
import json
import struct
import sys

import numpy

from kit import model_record, world, wrong_model

captured = sys.modules["orpipe.verify.captured"]
forged = model_record(optimum=999.0, objective=world["expected"], status="optimal")
captured.Captured.encode = lambda self: forged
for name in captured._ARRAYS:
    captured._ARRAYS[name] = "<f4"
dumps, pack = json.dumps, struct.pack
json.dumps = lambda value, **more: dumps({**value, "objective": world["expected"]} if isinstance(value, dict) else value, **more)
numpy.ascontiguousarray = lambda values, dtype=None: numpy.zeros(3, "<f2")
wrong_model()
