"""Announces a large record and never sends the rest, on all descriptors.

Success: the judge waits for it.
Expect: ok, crash, no model, timeout
Seconds: 3
"""
import os
import struct

from kit import wrong_model

wrong_model()
os.write(3, struct.pack("<cI", b"C", 1 << 26) + bytes(1000))
