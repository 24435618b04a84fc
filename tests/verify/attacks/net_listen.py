"""Waits for others to connect to it.

Success: a port of this machine is taken.
"""
import http.server
import socket

from kit import attempt, gained

for host in ("127.0.0.1", "0.0.0.0", "::"):
    if attempt(socket.create_server, (host, 0)) is not None:
        gained(host)
if attempt(http.server.HTTPServer, ("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) is not None:
    gained("a web server")
