#!/usr/bin/env python3
"""How long commits wait around checkpoints.

    python3 tests/compare/checkpoints.py --seconds 20 --clients 8

`pgbench`'s simple-update runs against a server, while /metrics says when a checkpoint has ended. The run
is cut into pieces of a quarter of a second; those in which a checkpoint ended, and the piece before, are
compared with the rest: median, 99 % and longest time of their commits. With two binaries the sides
alternate. Printed are the medians (min, max) of the rounds.

Needs pgbench (Debian: `postgresql-contrib` or `postgresql-15`) and a release build.
"""

import argparse
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PGBENCH = pathlib.Path("/usr/lib/postgresql/15/bin/pgbench")
PORT, HTTP = 5873, 8873
PIECE_S = 0.25


class Server:
    def __init__(self, binary, folder, memory):
        command = [binary, "serve", "--data", folder / "d.dovetail", "--memory", memory,
                   "--listen", f"127.0.0.1:{PORT}", "--http-listen", f"127.0.0.1:{HTTP}"]
        log = open(folder / "server.log", "w")
        self.process = subprocess.Popen([str(c) for c in command], stdout=log, stderr=log)
        for _ in range(300):
            try:
                self.checkpoints()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("the server did not start: " + (folder / "server.log").read_text()[-2000:])

    def checkpoints(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{HTTP}/metrics", timeout=5) as answer:
            found = re.search(r"^dovetail_checkpoint_number\S* (\d+)", answer.read().decode(), re.M)
        return int(found.group(1))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def pgbench(folder, *arguments):
    command = [PGBENCH, "-h", "127.0.0.1", "-p", str(PORT), "-U", "postgres", *arguments, "postgres"]
    return subprocess.Popen([str(c) for c in command], cwd=folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def ended(process):
    _, errors = process.communicate()
    if process.returncode != 0:
        sys.exit(f"pgbench: {errors[-2000:]}")


def measured(binary, args):
    """Times of commits in ms: near checkpoints, and the others."""
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = pathlib.Path(name)
        server = Server(binary, folder, args.memory)
        try:
            ended(pgbench(folder, "-i", "-q", "-s", args.scale))
            bench = pgbench(folder, "-n", "-b", "simple-update", "-c", args.clients, "-j", 2, "-l",
                            "-T", args.seconds)
            ends, last = [], server.checkpoints()
            while bench.poll() is None:
                number = server.checkpoints()
                if number != last:
                    ends.append(time.time())
                    last = number
                time.sleep(0.02)
            ended(bench)
        finally:
            server.stop()
        near = {int(end / PIECE_S) - before for end in ends for before in (0, 1)}
        times = ([], [])
        for file in folder.glob("pgbench_log.*"):
            for line in file.read_text().splitlines():
                fields = line.split()
                at = int(fields[4]) + int(fields[5]) / 1e6
                times[int(at / PIECE_S) not in near].append(int(fields[2]) / 1000)
        return len(ends), times


def figures(times):
    times.sort()
    if not times:
        return (0.0, 0.0, 0.0)
    return times[len(times) // 2], times[len(times) * 99 // 100], times[-1]


def shown(values):
    return f"{statistics.median(values):8.1f} ({min(values):.1f}-{max(values):.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", action="append", help="one, or two that alternate")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--scale", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", default="256MB")
    parser.add_argument("--folder", default=None, help="where the scratch folder is made")
    args = parser.parse_args()
    binaries = args.binary or [str(ROOT / "target/release/dovetail")]
    rounds = {binary: [] for binary in binaries}
    for _ in range(args.rounds):
        for binary in binaries:
            rounds[binary].append(measured(binary, args))
    for binary, results in rounds.items():
        print(f"{binary}: {sum(count for count, _ in results)} checkpoints in {args.rounds} rounds")
        both = [(figures(near), figures(others)) for _, (near, others) in results]
        for at, name in enumerate(("median", "99 %", "longest")):
            near, others = ([one[side][at] for one in both] for side in (0, 1))
            ratios = [one[0][at] / one[1][at] for one in both if one[1][at]]
            print(f"  {name:8} ms: near checkpoints {shown(near)}, others {shown(others)}, "
                  f"ratio {shown(ratios)}")


if __name__ == "__main__":
    main()
