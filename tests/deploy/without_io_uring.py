#!/usr/bin/env python3
"""The suite where io_uring is denied: a seccomp filter fails its three calls with EPERM.

    tests/deploy/without_io_uring.py [--quick | --all]

First the filter is tried; then a server is started, which must say at start that it runs on the
`threads` ring, and why; then the tests of the server run and the SQL files, with `--quick` not the
files, with `--all` those of the whole workspace. Prints the lines of the test harness, and the counts at the end. Needs a build of
`dovetail` where cargo puts it, which the tests make.
"""

import ctypes
import errno
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLS = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427}
INSIDE = "--inside"
SERVER = ["sessions", "serving"]
TARGETS = {"--quick": SERVER, "": [*SERVER, "malformed", "slt"], "--all": []}


def denied():
    """Whether all three calls fail with EPERM."""
    libc = ctypes.CDLL(None, use_errno=True)
    for number in CALLS.values():
        if libc.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != errno.EPERM:
            return False
    return True


def said_at_start(binary):
    """What a server says of its rings at start, and whether it answers and ends well."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        command = [binary, "serve", "--data", f"{folder}/t.dovetail", "--listen", "127.0.0.1:0",
                   "--no-http", "--memory", "64MB"]
        server = subprocess.Popen(command, stderr=open(log, "w"))
        for _ in range(300):
            if "Listening at" in log.read_text() or server.poll() is not None:
                break
            time.sleep(0.1)
        server.send_signal(signal.SIGTERM)
        code = server.wait(60)
        return re.findall(r"ring (.*)", log.read_text()), code


def inside(extent):
    """Everything, under the filter."""
    passed = failed = 0

    def check(what, holds):
        nonlocal passed, failed
        passed, failed = passed + bool(holds), failed + (not holds)
        print(f"{'ok      ' if holds else 'FAILED  '} {what}", flush=True)

    check("the filter denies io_uring", denied())
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    cargo = [os.environ.get("CARGO", "cargo")]
    # The binary as the tests have it, so that nothing is built twice.
    subprocess.run([*cargo, "test", "--quiet", "--workspace", "--test", "serve", "--no-run"], cwd=ROOT,
                   check=True)
    rings, code = said_at_start(target / "debug" / "dovetail")
    check(f"a server says at start: ring {' | '.join(rings)}",
          rings and all(re.match(r"Threads: .*denied", ring) for ring in rings) and code == 0)
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; 0 ignored;")
    chosen = [x for name in TARGETS[extent] for x in ("--test", name)]
    tests = subprocess.Popen([*cargo, "test", "--workspace", "--no-fail-fast", *chosen], cwd=ROOT,
                             text=True, stdout=subprocess.PIPE)
    for line in tests.stdout:
        print(line, end="", flush=True)
        if found := re.match(r"test result: \w+\. (\d+) passed; (\d+) failed", line):
            passed, failed = passed + int(found[1]), failed + int(found[2])
    failed += tests.wait() != 0 and failed == 0
    print(f"without io_uring: {passed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    extent = "".join(sys.argv[1:])
    if extent.removeprefix(INSIDE) not in TARGETS:
        sys.exit(__doc__)
    if extent.startswith(INSIDE):
        sys.exit(inside(extent.removeprefix(INSIDE)))
    filter_ = [str(ROOT / "deploy" / "under_seccomp.py")]
    denials = [x for name in CALLS for x in ("--deny", name)]
    command = [sys.executable, *filter_, *denials, "--", sys.executable, __file__, INSIDE]
    os.execv(sys.executable, [*command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
