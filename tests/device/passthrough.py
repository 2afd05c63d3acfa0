#!/usr/bin/env python3
"""NVMe passthrough and IOPOLL, on devices that a virtual machine emulates.

    tests/device/passthrough.py [--binary DOVETAIL] [--keep FOLDER]

Boots two kernels of Debian, its own and that of its backports, with four NVMe devices: one to write
to, one with blocks of 4096 bytes, one that cannot be read at one place, and one with a mounted file
system. In it run the tests of `runtime` for passthrough, which write by one way and read by the
other, those for files and polling on the mounted device, and with `--binary` a database on it with
IOPOLL and the figures of each way. A process is killed with requests in flight. Kernels before 6.5
are not asked to poll for commands. A third start is without queues for polling. The durable writes
are looked for in the image of the device. Each line that a test prints says which way it took.

Needs qemu-system-x86_64 and busybox (static), which apt installs where they are missing and it may,
and the kernels, which apt downloads and nobody installs. Uses KVM where it can be had. All that
cannot be had is skipped and counted. Takes two to six minutes, and writes only into a temporary
folder and the one for what is downloaded (target/device).
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from kernels import Unavailable, kernel
from machine import Image, Machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ["passthrough", "polling", "files"]
# Where and what the test of durable writes leaves, by `Durability`: None, Sync, Linked, Flag.
PLACE, PAGE, SEED = 192 << 20, 4096, 7


def built():
    """The test programs, by name."""
    cargo = os.environ.get("CARGO", "cargo")
    only = [x for name in TESTS for x in ("--test", name)]
    command = [cargo, "test", "-p", "runtime", *only, "--no-run", "--message-format=short"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = re.findall(r"\(((?:\S*/)?(\w+)-[0-9a-f]{16})\)", done.stderr)
    programs = {name: ROOT / path for path, name in found}
    if done.returncode != 0 or set(programs) != set(TESTS):
        sys.exit(f"FAILED   the tests cannot be built: {done.stderr}")
    return programs


def devices(folder):
    """Images of the devices, by the serial number that the machine inside knows them by."""
    return [
        Image("plain", folder / "plain.img", 1 << 30),
        Image("large", folder / "large.img", 1 << 30, block_bytes=4096),
        Image("broken", folder / "broken.img", 16 << 20, broken_at=1 << 20),
        Image("mounted", folder / "mounted.img", 1 << 30, has_files=True),
    ]


def steps(queues, polls_commands, has_binary):
    """Lines of the shell in the machine: the name of a step, and its command."""
    quiet = "--nocapture --test-threads=1"
    on = "DOVETAIL_NVME_POLLS_COMMANDS=1 " if polls_commands else ""
    on += "DOVETAIL_NVME_BROKEN=/dev/$broken DOVETAIL_NVME_MOUNTED=/dev/$mounted "
    on += "DOVETAIL_NVME=/dev/$plain"
    yield "blocks of 512 bytes", f"{on} /tests/passthrough {quiet}"
    if not queues:
        return
    on = on.replace("$plain", "$large")
    # Its first way is the polled one: half a second by the block device, then by commands.
    yield "killed with reads in flight", (
        f"{on} /tests/passthrough every_way {quiet} & sleep 0.8; kill -9 $!; sleep 1;"
        f" {on} /tests/passthrough same_bytes {quiet}")
    yield "blocks of 4096 bytes", f"{on} /tests/passthrough {quiet}"
    yield "files on NVMe", f"TMPDIR=/mnt /tests/files {quiet}"
    yield "polled files on NVMe", f"TMPDIR=/mnt DOVETAIL_POLLED=1 /tests/polling {quiet}"
    if has_binary:
        sql = ("create table t (a int primary key, b text); insert into t select i,"
               " repeat('x', 100) from generate_series(1, 20000) i;"
               " select count(*), sum(length(b)) from t")
        database = "/tests/dovetail sql /mnt/$(uname -r).dovetail"
        database += " --memory 64MB --ring uring --iopoll -qtA"
        again = "select count(*), sum(length(b)) from t"
        yield "a database with IOPOLL", (
            f'{database} -c "{sql}" && {database} -c "{again}" | grep 20000')
        figures = "/tests/dovetail bench io --runs 3 --folder /mnt --device /dev/$plain"
        ways = "passthrough_iopoll" if polls_commands else "passthrough"
        yield "figures of each way", (
            f"{figures} > /tmp/ways 2>&1; cat /tmp/ways; grep -q way.{ways}.reads /tmp/ways")


def pattern():
    """The bytes that are `pattern(PAGE, SEED)` in the tests."""
    return bytes((SEED * 31 + i // 512 + i % 251) % 256 for i in range(PAGE))


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, what, holds):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        print(f"{'ok      ' if holds else 'FAILED  '} {what}", flush=True)

    def take(self, lines, names):
        """Counts what the tests in the machine say."""
        for line in lines:
            if found := re.search(r"test result: \w+\. (\d+) passed; (\d+) failed", line):
                self.passed, self.failed = self.passed + int(found[1]), self.failed + int(found[2])
            self.skipped += "skipped: " in line
        for name in names:
            self.check(name, f"== {name}: exit 0" in lines)


def run(arguments, folder, tally):
    cache = arguments.keep or ROOT / "target" / "device"
    images = devices(folder)
    files = {f"tests/{name}": path for name, path in built().items()}
    if arguments.binary:
        files["tests/dovetail"] = arguments.binary.resolve()
    starts = (("-backports", 1, True), ("", 1, False), ("-backports", 0, True))
    for suffix, queues, polls_commands in starts:
        try:
            machine = Machine(folder, files, images, kernel(cache, suffix))
            one(machine, queues, polls_commands, bool(arguments.binary), tally)
        except Unavailable as reason:
            print(f"SKIPPED  a machine with kernel{suffix}, {queues} queues for polling: {reason}")
            tally.skipped += 1


def one(machine, queues, polls_commands, has_binary, tally):
    """Runs a machine; counts what its tests say, and looks into its images."""
    chosen = list(steps(queues, polls_commands, has_binary))
    print(f"a machine ({machine.accelerator}), {queues} queues for polling", flush=True)
    lines = machine.run(chosen, queues, lambda line: print(f"  {line}", flush=True))
    tally.take(lines, [name for name, _ in chosen])
    tally.check("the machine ended by itself", "== end" in lines)
    for image in machine.images[:2 if queues else 1]:
        held = image.read(PLACE, 4 * PAGE)
        is_there = held == pattern() * 4
        tally.check(f"what was durable is in the image {image.serial}", is_there)
        image.erase(PLACE, 4 * PAGE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, help="also runs a database with IOPOLL")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for what is downloaded")
    arguments, tally = parser.parse_args(), Tally()
    with tempfile.TemporaryDirectory(prefix="dovetail-device-") as scratch:
        try:
            Machine.prepare()
            run(arguments, pathlib.Path(scratch), tally)
        except Unavailable as reason:
            print(f"SKIPPED  no machine with NVMe devices: {reason}")
            tally.skipped += 1
    word = "FAILED" if tally.failed else "ok"
    counts = f"{tally.passed} passed; {tally.failed} failed; {tally.skipped} ignored;"
    print(f"test result: {word}. {counts}")
    sys.exit(tally.failed > 0)


main()
