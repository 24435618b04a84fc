"""Prints without end, to both streams and by descriptor.

Success: the judge keeps more than a megabyte.
Expect: output
"""
import os

block = b"GAIN" * 16384
while True:
    os.write(1, block)
    os.write(2, block)
