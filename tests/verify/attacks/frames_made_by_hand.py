"""Writes records of its own to the result pipe: statuses, objectives, verdicts, faults of the judge's.

Success: it is taken for right, or for the judge's fault.
Expect: no model, exception, crash, unsupported
"""
import json
import os
import struct

from kit import world

claim = json.dumps({"status": "optimal", "objective": world["expected"], "verdict": "EQUIVALENT", "type": "x", "message": "", "traceback": "",
                    "memory": False, "path": ""}).encode()
for kind, payload in ((b"S", b""), (b"X", b"our own fault"), (b"S", b""), (b"E", claim), (b"D", b"")):
    os.write(3, struct.pack("<cI", kind, len(payload)) + payload)
