"""Crashes in the hope of a core file, or of a helper that the kernel starts for one.

Success: a core file is left anywhere.
Expect: crash
"""
import ctypes
import resource

from kit import attempt

attempt(resource.setrlimit, resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
attempt(resource.setrlimit, resource.RLIMIT_CORE, (1, 1))
ctypes.string_at(8)
