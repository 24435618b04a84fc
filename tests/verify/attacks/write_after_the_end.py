"""Says that its end was reached, closes its pipes and goes on working.

Success: it is alive after the run.
Expect: no model, timeout, crash
Seconds: 3
"""
import os
import struct

os.write(3, struct.pack("<cI", b"D", 0))
os.closerange(0, 64)
while True:
    pass
