#!/usr/bin/env python3
"""Transactions that are larger than memory: all rows of lineitem are changed, and deleted, and it is taken back.

    tests/deploy/large_changes.py [--sf 1] [--memory 256MB] [--storage row] [--keep FILE] [BINARY]
                                                                default: the release build that cargo has made

Prints, for each statement, its time, the most memory of its own that the server has had until then and what
that is of its limit. Sums over the table are compared with what they have to be; in the end the file is checked. The
limit is that of `serve --memory`; beyond it the process may have 32 MiB and a tenth of the limit of its own, for
stacks and buffers. `--keep` names a database that is loaded there once and copied from it. The last
line is that of a test harness.
"""

import argparse
import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import served
import wire

SUMS = """select count(*), sum(l_quantity), sum(l_linenumber), sum(length(l_comment)), min(l_shipdate)
          from lineitem"""
BESIDE_BYTES = 32 << 20
UNITS = {"MB": 1 << 20, "GB": 1 << 30}


def bytes_of(text):
    return int(text[:-2]) * UNITS[text[-2:].upper()]


class Served(served.Served):
    """A server over the file."""

    def __init__(self, binary, data, memory):
        super().__init__(binary, data, "--memory", memory, log_in=data.parent)
        self.peak_bytes = 0
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        """Notes the most memory that it has had, of its own: what it has of its program's file is not counted."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status")
        while self.process.poll() is None:
            with contextlib.suppress(OSError, IndexError):
                own = int(status.read_text().split("RssAnon:")[1].split()[0]) << 10
                self.peak_bytes = max(self.peak_bytes, own)
            time.sleep(0.02)


class Run:
    """Statements one after the other, with what they have taken."""

    def __init__(self, server, limit):
        self.server, self.limit = server, limit
        self.session = wire.Connection(server.port, timeout=7200)
        self.passed, self.failed = 0, 0

    def statement(self, text):
        began = time.monotonic()
        rows = self.session.query(text)
        peak = self.server.peak_bytes
        print(f"  {time.monotonic() - began:8.1f} s  {peak / (1 << 20):7.0f} MiB ({peak / self.limit:.2f})"
              f"  {' '.join(text.split())[:100]}", flush=True)
        return rows

    def check(self, what, holds, detail=""):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        print(f"{'ok      ' if holds else 'FAILED  '}{what}{'' if holds else f': {detail}'}", flush=True)

    def sums(self):
        count, quantity, lines, length, first = self.statement(SUMS)[0]
        return int(count), float(quantity), int(lines), int(length), first


def load(binary, data, args):
    if args.keep and args.keep.exists():
        return shutil.copyfile(args.keep, data)
    command = [binary, "tpch", "load", "--sf", str(args.sf), "--data", data, "--storage", args.storage]
    subprocess.run(command, check=True)
    if args.keep:
        shutil.copyfile(data, args.keep)


def play(run):
    before = run.sums()
    run.statement("begin")
    run.statement("update lineitem set l_quantity = l_quantity + 1, l_comment = l_comment || '!'")
    count, quantity, lines, length, first = before
    changed = (count, quantity + count, lines, length + count, first)
    seen = run.sums()
    run.check("the transaction sees what it has changed", seen == changed, (seen, changed))
    run.statement("savepoint half")
    run.statement("delete from lineitem where l_linenumber > 1")
    run.statement("rollback to half")
    seen = run.sums()
    run.check("a delete is taken back", seen == changed, (seen, changed))
    run.statement("rollback")
    seen = run.sums()
    run.check("all is taken back", seen == before, (seen, before))
    run.statement("update lineitem set l_quantity = l_quantity + 1, l_comment = l_comment || '!'")
    seen = run.sums()
    run.check("what is committed is there", seen == changed, (seen, changed))
    run.statement("delete from lineitem where l_linenumber > 1")
    count, _, lines, _, _ = run.sums()
    run.check("what was not deleted is there", count == lines, (count, lines))
    peak = run.server.peak_bytes
    allowed = 1.1 * run.limit + BESIDE_BYTES
    run.check("the memory was kept to", peak <= allowed, f"{peak} of {allowed:.0f} bytes")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sf", type=float, default=1)
    parser.add_argument("--memory", default="256MB")
    parser.add_argument("--storage", default="row", choices=["row", "column"])
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("binary", nargs="?", type=pathlib.Path, default=ROOT / "target/release/dovetail")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.keep and args.keep.parent) as folder:
        data = pathlib.Path(folder) / "large.dovetail"
        load(args.binary, data, args)
        print(f"lineitem of SF {args.sf:g} ({args.storage}), a file of {data.stat().st_size >> 20} MiB,"
              f" --memory {args.memory}", flush=True)
        server = Served(args.binary, data, args.memory)
        run = Run(server, bytes_of(args.memory))
        count = play(run)
        run.check("the server ends well", server.stop(patience_s=120) == 0)
        checked = subprocess.run([args.binary, "check", data], capture_output=True, text=True)
        run.check("the file is sound", checked.returncode == 0, checked.stdout + checked.stderr)
        server = Served(args.binary, data, args.memory)
        again = Run(server, bytes_of(args.memory))
        run.check("what is committed is found again", again.sums()[0] == count)
        server.stop()
    print(f"{run.passed} passed, {run.failed} failed, 0 ignored")
    return run.failed > 0


if __name__ == "__main__":
    sys.exit(main())
