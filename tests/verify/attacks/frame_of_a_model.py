"""Writes a record of a model with a claimed status and objective beside it.

Success: the claims count: a model is worth what its own solution by the judge is.
Expect: ok, crash
"""
import json
import os
import struct

from kit import model_record, world

raw = model_record(optimum=999.0, status="optimal", objective=world["expected"], verdict="EQUIVALENT", captured=True)
os.write(3, struct.pack("<cI", b"C", len(raw)) + raw)
print(json.dumps({"objective": world["expected"]}))
