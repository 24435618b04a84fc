"""Makes system calls by the door of another architecture, whose numbers mean other calls.

Success: it gets an answer.
Expect: crash
"""
import ctypes
import mmap
import platform

from kit import gained, libc

if platform.machine() != "x86_64":
    libc.abort()
code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b81400000053cd805bc3"))  # mov eax, 20; push rbx; int 0x80; pop rbx; ret
pid = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
gained(f"the process number {pid} by int 0x80")
