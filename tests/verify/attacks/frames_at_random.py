"""Writes records of every kind and length, filled by chance, with a true beginning and without.

Success: the judge fails on one.
Expect: crash, exception, no model, unsupported, memory, timeout, ok
Seconds: 3
"""
import os
import random
import struct

from kit import attempt, model_record

chance = random.Random()
raw = model_record(optimum=999.0)
for _ in range(2000):
    kind = bytes([chance.choice(b"SXCUED\0Z")])
    body = bytearray(chance.choice((raw, b"", chance.randbytes(chance.randrange(300)))))
    for _ in range(chance.randrange(4)):
        if body:
            body[chance.randrange(len(body))] = chance.randrange(256)
    attempt(os.write, 3, struct.pack("<cI", kind, len(body)) + body)
