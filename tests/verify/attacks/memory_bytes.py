"""Takes memory until there is none: bytes, lists, huge arrays.

Success: more than its limit.
Expect: memory
Memory: 600
"""
held = []
while True:
    held.append(bytearray(1 << 24))
