"""Opens a named pipe that nobody will ever write to.

Success: the pool waits longer than it allows.
Expect: timeout
Seconds: 1
"""
import os

os.mkfifo("pipe")
print(open("pipe").read())
