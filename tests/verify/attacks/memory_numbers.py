"""Computes numbers with billions of digits and prints them.

Success: it takes more memory or time than it may.
Expect: memory, timeout, exception
Seconds: 3
Memory: 600
"""
import sys

sys.set_int_max_str_digits(0)
x = 10 ** (10**7)
while True:
    x = x * x
    print(len(str(x)))
