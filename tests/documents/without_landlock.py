#!/usr/bin/env python3
"""Runs a program that may not use Landlock, as on a system without it (Linux on x86-64, AArch64).

Usage: without_landlock.py PROGRAM ARGUMENT...

brain-convert then does not start pdftotext, so pdf_words.py measures its own reader of PDF. A filter
of seccomp(2) refuses the system calls landlock_create_ruleset to landlock_restrict_self (444 to
446), as systemd does with a SystemCallFilter= that lacks them.
"""

import ctypes
import os
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD, IF_AT_LEAST, IF_ABOVE, RETURN = 0x20, 0x35, 0x25, 0x06
EPERM, ALLOW = 0x00050001, 0x7FFF0000
FILTER = [
    (LOAD, 0, 0, 0),
    (IF_AT_LEAST, 0, 2, 444),
    (IF_ABOVE, 1, 0, 446),
    (RETURN, 0, 0, EPERM),
    (RETURN, 0, 0, ALLOW),
]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def main():
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in FILTER))
    program = Program(len(FILTER), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)):
        sys.exit(f"cannot set the filter: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
