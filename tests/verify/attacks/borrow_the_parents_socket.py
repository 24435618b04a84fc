"""Answers in the place of a waiting child: looks for the socket where the next program comes, and receives.

Success: it gets another run's program, data or pipes.
"""
import ctypes
import socket

from kit import attempt, gained, libc

for number in range(64):
    found = attempt(socket.socket, fileno=number)
    if found is not None:
        gained(f"a socket at {number}")
    buffer = ctypes.create_string_buffer(4096)
    if libc.recv(number, buffer, 4096, 0x40) > 0 or libc.recvmsg(number, buffer, 0x40) >= 0:
        gained(f"a message at {number}")
