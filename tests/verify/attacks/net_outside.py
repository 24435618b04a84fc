"""Connects to other machines, by sockets and by libraries.

Success: a connection, or a packet that leaves.
"""
import http.client
import smtplib
import socket
import urllib.request

from kit import attempt, gained

for target in (("192.0.2.1", 80), ("198.51.100.7", 443), ("2001:db8::1", 80)):
    if attempt(socket.create_connection, target, 0.3) is not None:
        gained(target)
if attempt(lambda: urllib.request.urlopen("http://192.0.2.1/", timeout=0.3)) is not None:
    gained("urllib")
if attempt(lambda: http.client.HTTPConnection("192.0.2.1", timeout=0.3).request("GET", "/")) is not None:
    gained("http.client")
if attempt(lambda: smtplib.SMTP("192.0.2.1", timeout=0.3)) is not None:
    gained("smtplib")
