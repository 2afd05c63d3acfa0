#!/usr/bin/env python3
"""Runs a program under a seccomp profile in the form that container engines take.

    under_seccomp.py [--without NAME]... PROFILE.json -- PROGRAM [ARGUMENT]...

`--without io_uring_setup` takes a call out of the profile. It is for trying a profile without a
container engine: it knows names and one action, "allow", and no conditions on arguments.
"""

import ctypes
import glob
import json
import os
import platform
import re
import struct
import sys

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
HEADERS = {
    "x86_64": ["/usr/include/*/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"],
    "aarch64": ["/usr/include/asm-generic/unistd.h"],
}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06


def numbers(machine):
    """Numbers of system calls by name, from the kernel's headers."""
    paths = [path for pattern in HEADERS[machine] for path in glob.glob(pattern)]
    if not paths:
        sys.exit("the kernel's headers are not installed (linux-libc-dev)")
    with open(paths[0], encoding="utf-8") as file:
        found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", file.read())
    return {name: int(number) for name, number in found}


def program(allowed, machine):
    """The filter: another architecture is killed, what is not allowed fails with EPERM."""
    steps = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, AUDIT_ARCH[machine]), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    for number in allowed:
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    steps.append((RETURN, 0, 0, ERRNO | 1))
    return b"".join(struct.pack("=HBBI", *step) for step in steps), len(steps)


def main():
    arguments, without = sys.argv[1:], set()
    while arguments and arguments[0] == "--without":
        without.add(arguments[1])
        arguments = arguments[2:]
    if len(arguments) < 3 or arguments[1] != "--":
        sys.exit(__doc__)
    with open(arguments[0], encoding="utf-8") as file:
        profile = json.load(file)
    if profile["defaultAction"] != "SCMP_ACT_ERRNO":
        sys.exit("the profile allows what it does not name")
    machine = platform.machine()
    known = numbers(machine)
    names = {name for rule in profile["syscalls"] for name in rule["names"]} - without
    code, count = program(sorted(known[name] for name in names if name in known), machine)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = struct.pack("HxxxxxxP", count, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
            PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_, 0, 0):
        sys.exit(f"the filter is refused: {os.strerror(ctypes.get_errno())}")
    os.execvp(arguments[2], arguments[2:])


if __name__ == "__main__":
    main()
