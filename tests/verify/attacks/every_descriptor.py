"""Writes claims to every descriptor there may be, hoping for the channel of another run or of the judge.

Success: anyone takes a claim.
Expect: crash, no model, ok, exception
"""
import os
import struct

from kit import attempt, model_record, world

raw = model_record(optimum=999.0, objective=world["expected"], status="optimal")
for fd in range(3, 1024):
    attempt(os.write, fd, struct.pack("<cI", b"C", len(raw)) + raw)
    attempt(os.write, fd, b'{"id": 0, "end": "", "status": 0, "objective": 3.5}')
