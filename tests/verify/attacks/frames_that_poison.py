"""Writes models that break a careless reader: row starts that wrap around, counts that do not add up, numbers that are none.

Success: the judge crashes, hangs, or takes one for right.
Expect: crash
"""
import os
import struct

from kit import model_record

big, low = 2**63 - 1, -(2**63)
for change in ({"indptr": [0, big, low, -1, 1]}, {"indices": [10**12]}, {"sizes": [2**62, 1, 1, 3]}, {"sizes": [1, 1, 1, 2**40]}, {"cost": [float("nan")]},
               {"names": "\0" * 100000}, {"head": "[" * 4000}, {"library": "x" * 3000}, {"sizes": [True, 1, 1, 3]}, {"lower": [float("nan")]}):
    raw = model_record(**change)
    os.write(3, struct.pack("<cI", b"C", len(raw)) + raw)
