"""Writes records without end, small and large.

Success: the judge fills its memory, or keeps others waiting.
Expect: crash, timeout
Seconds: 4
"""
import os
import struct

small = struct.pack("<cI", b"U", 0) * 10000
large = struct.pack("<cI", b"C", 1 << 26) + bytes(1 << 26)
while True:
    os.write(3, large)
    os.write(3, small)
