"""Opens files by handle, by descriptor of a folder, by path descriptors: ways around path rules.

Success: a descriptor of anything outside.
"""
import ctypes
import os

from kit import attempt, call, gained, world

handle = ctypes.create_string_buffer(256)
handle[0] = b"\x80"
if call("name_to_handle_at", -100, world["secret"].encode(), handle, ctypes.create_string_buffer(8), 0) >= 0:
    gained("a file handle")
for number in range(0, 64):
    if attempt(os.fchdir, number) is not None:
        gained(f"descriptor {number} is a folder")
    if attempt(os.open, "..", os.O_RDONLY, dir_fd=number) is not None:
        gained(f"the parent of descriptor {number}")
for flags in (os.O_PATH, os.O_RDONLY | os.O_DIRECTORY, os.O_RDONLY | os.O_NOFOLLOW):
    if attempt(os.open, world["secret"], flags) is not None:
        gained(f"the secret with flags {flags}")
