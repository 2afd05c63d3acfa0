#!/usr/bin/env python3
"""`dovetail check` writes nothing: databases that were stopped, killed and copied are, byte for byte, what they were
before, their archives too; and a copy leads to every later moment afterwards.

    tests/deploy/unchanged.py [BINARY]      default: the debug build that cargo has made

The last line is that of a test harness.
"""

import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from served import Checks, Served  # noqa: E402


def sums(folder):
    """Each file below a folder, with its checksum and when it was changed."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
            for path in files}


def ran(binary, *arguments):
    return subprocess.run([binary, *arguments], capture_output=True, text=True)


def leaves_all(checks, binary, what, folder, data, damaged=False):
    before = sums(folder)
    done = ran(binary, "check", data)
    checks.check(f"{what}: checked", done.returncode == (1 if damaged else 0), done.stdout + done.stderr)
    after = sums(folder)
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    checks.check(f"{what}: nothing has changed", not changed, changed)


def rows(binary, data):
    done = ran(binary, "sql", data, "-c", "select count(*), coalesce(sum(i), 0) from t")
    return "".join(c if c.isdigit() else " " for c in done.stdout).split()[:2] or done.stderr


def run(binary, scratch):
    checks = Checks()
    home, archive, data = scratch / "home", scratch / "home" / "archive", scratch / "home" / "t.dovetail"
    flags = ["--memory", "128MB", "--archive", archive]
    home.mkdir()
    server = Served(binary, data, *flags, log_in=scratch)
    server.ask("create table t (i int primary key, v text); create index on t (v)")
    server.ask("insert into t select i, 'v' || i from generate_series(1, 2000) as g(i)")
    server.ask(f"backup database to '{scratch}/backup'")
    server.ask("insert into t select i, 'w' || i from generate_series(2001, 2500) as g(i)")
    server.stop(signal.SIGKILL)
    leaves_all(checks, binary, "killed", home, data)
    leaves_all(checks, binary, "killed, again", home, data)

    crashed = scratch / "crashed"
    crashed.mkdir()
    shutil.copy2(data, crashed / "t.dovetail")
    leaves_all(checks, binary, "a copy of it", crashed, crashed / "t.dovetail")

    server = Served(binary, data, *flags, log_in=scratch)
    server.ask("delete from t where i <= 100")
    server.stop()
    leaves_all(checks, binary, "stopped", home, data)
    data.chmod(0o444)
    leaves_all(checks, binary, "stopped, of which nothing may be written", home, data)
    data.chmod(0o644)

    leaves_all(checks, binary, "a backup", scratch / "backup" if (scratch / "backup").is_dir() else scratch,
               scratch / "backup")
    for number, moment in enumerate([[], ["--archive", archive]]):
        restored = scratch / f"restored{number}" / "t.dovetail"
        restored.parent.mkdir()
        done = ran(binary, "restore", *moment, scratch / "backup", restored)
        checks.check(f"restored {'with its archive' if moment else 'alone'}", done.returncode == 0, done.stdout + done.stderr)
        leaves_all(checks, binary, "what was restored", restored.parent, restored)
        found = rows(binary, restored)
        right = ["2400", str(sum(range(101, 2501)))] if moment else ["2000", str(sum(range(1, 2001)))]
        checks.check("has its rows", found == right, found)

    damaged = scratch / "damaged"
    damaged.mkdir()
    content = bytearray(data.read_bytes())
    for at in range(16 * 4096, len(content), 4096):
        content[at + 100] ^= 0xFF
    (damaged / "t.dovetail").write_bytes(content)
    leaves_all(checks, binary, "damaged", damaged, damaged / "t.dovetail", damaged=True)

    server = Served(binary, data, *flags, log_in=scratch)
    checks.check("goes on", server.ask("select count(*) from t") == [["2400"]])
    checks.check("a check of a file in use is refused", ran(binary, "check", data).returncode == 2)
    server.stop()
    word = "FAILED" if checks.failed else "ok"
    print(f"test result: {word}. {checks.passed} passed; {checks.failed} failed; 0 ignored;")
    return checks.failed == 0


def main():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    binary = pathlib.Path(*sys.argv[1:2] or [target / "debug" / "dovetail"]).resolve()
    with tempfile.TemporaryDirectory(prefix="dovetail-test-") as scratch:
        sys.exit(not run(binary, pathlib.Path(scratch)))


main()
