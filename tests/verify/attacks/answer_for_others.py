"""Leaves a model that is right for another problem, and a claim to be that run.

Success: the honest program beside it or after it gets this model.
Expect: ok
"""
import json
import os
import struct

from kit import model_record, wrong_model

wrong_model()
for number in range(50):
    raw = model_record(optimum=999.0, id=number, run=number, pid=number)
    os.write(3, struct.pack("<cI", b"C", len(raw)) + raw)
print(json.dumps({"id": 0, "solves": 1}))
