#!/usr/bin/env python3
"""Holds the writer's lock of an SQLite file until it is ended: hold.py FILE-shm. Prints a line once it has the lock.

See "Locks" at https://sqlite.org/walformat.html: byte 120 is WAL_WRITE_LOCK.
"""
import fcntl
import signal
import sys

with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 120)
    print("held", flush=True)
    signal.pause()
