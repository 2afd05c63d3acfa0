#!/usr/bin/env python3
"""Runs a program under a seccomp profile in the form that container engines take.

    under_seccomp.py [--without NAME]... PROFILE.json -- PROGRAM [ARGUMENT]...
    under_seccomp.py --deny NAME [--deny NAME]... -- PROGRAM [ARGUMENT]...

`--without io_uring_setup` takes a call out of the profile. It is for trying a profile without a
container engine: it knows names and one action, "allow", and no conditions on arguments. With
`--deny` there is no profile: all is allowed but the named calls, which fail with EPERM.
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
# The same everywhere: for machines without the kernel's headers.
IO_URING = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427}
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


def program(numbers, machine, named, others):
    """The filter: another architecture is killed, the named calls end in one way, others in another."""
    steps = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, AUDIT_ARCH[machine]), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    for number in numbers:
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, named)]
    steps.append((RETURN, 0, 0, others))
    return b"".join(struct.pack("=HBBI", *step) for step in steps), len(steps)


def options(arguments, name):
    """Takes the values of an option off the front of the arguments."""
    values = []
    while arguments[:1] == [name] and len(arguments) > 1:
        values.append(arguments[1])
        del arguments[:2]
    return values


def profiled(path, without, machine):
    """The filter that a profile asks for."""
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    if profile["defaultAction"] != "SCMP_ACT_ERRNO":
        sys.exit("the profile allows what it does not name")
    known = numbers(machine)
    names = {name for rule in profile["syscalls"] for name in rule["names"]} - set(without)
    return program(sorted(known[n] for n in names if n in known), machine, ALLOW, ERRNO | 1)


def denying(names, machine):
    """The filter that denies some calls."""
    known = IO_URING if set(names) <= set(IO_URING) else numbers(machine)
    return program(sorted(known[name] for name in names), machine, ERRNO | 1, ALLOW)


def main():
    arguments, machine = sys.argv[1:], platform.machine()
    without, denied = options(arguments, "--without"), options(arguments, "--deny")
    if denied and arguments[:1] == ["--"]:
        code, count = denying(denied, machine)
    elif not denied and arguments[1:2] == ["--"]:
        code, count = profiled(arguments.pop(0), without, machine)
    else:
        sys.exit(__doc__)
    command = arguments[1:] or sys.exit(__doc__)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = struct.pack("HxxxxxxP", count, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
            PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_, 0, 0):
        sys.exit(f"the filter is refused: {os.strerror(ctypes.get_errno())}")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
