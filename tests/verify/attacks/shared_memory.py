"""Leaves shared memory behind, and looks for that of others.

Success: a segment is made or found, in /dev/shm, System V or by a file without a name.
"""
import mmap
import os
from multiprocessing import shared_memory

from kit import attempt, call, gained, libc

if attempt(shared_memory.SharedMemory, "orpipe-escape", True, 4096) is not None:
    gained("shared memory")
if libc.shm_open(b"/orpipe-escape", os.O_CREAT | os.O_RDWR, 0o600) >= 0:
    gained("shm_open")
if call("shmget", 0x4F52, 1 << 16, 0o1600) >= 0 or any(call("shmat", k, 0, 0) > 0 for k in range(64)):
    gained("System V shared memory")
if call("semget", 0x4F52, 1, 0o1600) >= 0 or call("msgget", 0x4F52, 0o1600) >= 0 or call("mq_open", b"orpipe", os.O_CREAT, 0o600, None) >= 0:
    gained("a queue or a semaphore")
if libc.sem_open(b"/orpipe-escape", os.O_CREAT, 0o600, 1):
    gained("a named semaphore")
mmap.mmap(-1, 4096)  # its own is fine
