#!/usr/bin/env python3
"""A database over loop devices and files: what works, and what is refused.

    tests/device/volumes.py --binary DOVETAIL

Makes loop devices with sectors of 512 bytes and of 4 KiB over files of a temporary folder, and a
database over them. The same statements run on a database in one file, and the rows are compared;
devices and files join and leave while it works; the process is killed in the middle of commits.
Foreign devices, mounted ones and ones in use are refused, and stay as they are, byte by byte.

Needs root, losetup and mkfs.ext4; without them it is skipped, loudly. Takes a minute.
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROWS = """create table t (k bigint primary key, v text);
insert into t select n, repeat(n::text, 20) from generate_series(1, 60000) n;
update t set v = v || 'x' where k % 7 = 0;
delete from t where k % 11 = 0;
checkpoint;"""
ASK = "select count(*), sum(k), sum(length(v)) from t"


def skipped(why):
    print(f"SKIPPED  volumes.py: {why}")
    sys.exit(0)


class Loop:
    """A loop device over a file of its own."""

    def __init__(self, folder, name, megabytes, sector_bytes=512):
        self.image = folder / f"{name}.img"
        with open(self.image, "wb") as file:
            file.truncate(megabytes << 20)
        command = ["losetup", "--find", "--show", f"--sector-size={sector_bytes}", self.image]
        made = subprocess.run(command, capture_output=True, text=True)
        if made.returncode != 0:
            skipped(f"no loop device: {made.stderr.strip()}")
        self.path = made.stdout.strip()

    def digest(self):
        with open(self.path, "rb") as device:
            return hashlib.file_digest(device, "sha256").hexdigest()

    def close(self):
        subprocess.run(["losetup", "--detach", self.path], check=False)


class Dovetail:
    def __init__(self, binary):
        self.binary = binary

    def run(self, *arguments, fails=None):
        """What it prints; `fails`: words of the error that it has to end with."""
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True)
        if fails is None and done.returncode != 0:
            raise AssertionError(f"{arguments}: {done.stderr}")
        if fails is not None and (done.returncode == 0 or fails not in done.stderr):
            raise AssertionError(f"{arguments}: not refused with '{fails}': {done.stderr}")
        return done.stdout.strip()

    def sql(self, data, *commands, members=(), fails=None, options=()):
        given = [x for member in members for x in ("--member", member)]
        asked = [x for command in commands for x in ("-c", command)]
        return self.run("sql", data, "-q", "-A", "-t", *given, *options, *asked, fails=fails)


def check(dovetail, folder, loops):
    one, wide, ext4, spare = (loop.path for loop in loops)
    plain, members = folder / "plain", ["a, with a comma", "second"]
    a, second = (folder / name for name in members)
    dovetail.sql(plain, ROWS)
    rows = dovetail.sql(plain, ASK)

    # A foreign device, a mounted one and the same one twice.
    before = loops[2].digest()
    dovetail.sql(a, "select 1", members=[ext4], fails="is not empty: it holds a file system (ext2")
    assert not a.exists() and loops[2].digest() == before, "a foreign device was written to"
    mount = folder / "mount"
    mount.mkdir()
    if subprocess.run(["mount", ext4, mount], capture_output=True).returncode == 0:
        dovetail.sql(a, "select 1", members=[ext4], options=["--format"], fails="is in use")
        subprocess.run(["umount", mount], check=True)
    else:
        print("SKIPPED  a mounted device: it cannot be mounted here")
    dovetail.sql(a, "select 1", members=[one, one], fails="are the same file or device")

    # Sectors of both sizes, unequal sizes, names with commas, the other order.
    dovetail.sql(a, ROWS, members=[one, wide, second])
    for order in ([one, wide, second], [second, wide, one], []):
        assert dovetail.sql(a, ASK, members=order) == rows, f"other rows, members {order}"
    dovetail.sql(a, ASK, members=[one, second], fails="was not given")
    dovetail.run("check", a)
    print(dovetail.run("volume", "list", "--data", a))

    # They come and go, offline and while it works.
    dovetail.run("volume", "add", "--data", a, "--member", ext4, fails="is not empty")
    dovetail.run("volume", "add", "--data", a, "--member", ext4, "--format")
    dovetail.sql(a, f"alter database add member '{spare}'", f"alter database drop member '{wide}'")
    dovetail.run("volume", "remove", "--data", a, "--member", one)
    assert dovetail.sql(a, ASK) == rows, "other rows after members have changed"
    left = dovetail.run("volume", "list", "--data", a)
    assert one not in left and wide not in left and spare in left, left
    dovetail.sql(a, f"alter database drop member '{one}'", fails="can be removed")

    # A database whose first member is a device, and one that becomes the first of several.
    dovetail.sql(one, ROWS)
    assert dovetail.sql(one, ASK) == rows, "other rows on a device"
    dovetail.run("volume", "add", "--data", plain, "--member", wide)
    assert dovetail.sql(plain, ASK) == rows, "other rows of a converted file"

    # Killed in the middle of commits.
    inserts = "".join(f"insert into t values ({n}, 'new');\n" for n in range(100000, 160000))
    script = folder / "inserts.sql"
    script.write_text(inserts)
    command = [dovetail.binary, "sql", str(a), "-q", "-f", str(script)]
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        dovetail.run("check", a)
    found = dovetail.sql(a, "select max(k) - 100000 + 1 = count(*) from t where k >= 100000")
    assert found == "t", f"rows are missing after kills: {found}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    arguments = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("losetup") or not shutil.which("mkfs.ext4"):
        skipped("needs root, losetup and mkfs.ext4")
    with tempfile.TemporaryDirectory() as name:
        folder, loops = pathlib.Path(name), []
        try:
            loops.append(Loop(folder, "one", 300))
            loops.append(Loop(folder, "wide", 200, sector_bytes=4096))
            loops.append(Loop(folder, "ext4", 160))
            loops.append(Loop(folder, "spare", 240))
            subprocess.run(["mkfs.ext4", "-q", loops[2].path], check=True)
            check(Dovetail(arguments.binary), folder, loops)
        finally:
            for loop in loops:
                loop.close()
    print("ok")


if __name__ == "__main__":
    main()
