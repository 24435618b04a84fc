"""Says that its end was reached and leaves by the back door, with every exit code.

Success: a claim counts.
Expect: no model, crash
"""
import os
import struct

for kind in (b"E", b"D"):
    os.write(3, struct.pack("<cI", kind, 0))
os._exit(0)
