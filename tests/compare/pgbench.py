#!/usr/bin/env python3
"""Look-ups by key over the protocol, against PostgreSQL 15: `pgbench -S`, both sides in turn.

    python3 tests/compare/pgbench.py --scale 100 --memory 4096,512

Both servers get the same memory in all, by a control group each, so that no page cache helps either.
For each limit, protocol and number of clients the sides alternate; printed are the medians (min,
max) of transactions per second, their ratio, and the server's CPU time per transaction. Then, for
each limit, the 99th percentile of the latency of look-ups by two clients while nothing else runs,
and while another client runs an analytical query again and again.

Needs root, PostgreSQL 15 with pgbench (Debian: `postgresql-15`), and a release build (`--binary`).
Everything is made in a scratch folder, which is removed.
"""

import argparse
import contextlib
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

from servers import PORTS, ROOT, Measured, compare, figures, in_scratch_folder

ANALYTICAL = """select bid, count(*), sum(abalance), max(filler) from pgbench_accounts
                group by bid order by 2, 1 limit 10"""


class Watched(Measured):
    """A server of whose latencies we know."""

    def p99_us(self, seconds):
        """The 99th percentile of the latency of look-ups."""
        logs = tempfile.mkdtemp(dir=self.folder)
        self.pgbench("-S", "-n", "-M", "prepared", "-c", 2, "-j", 2, "-T", seconds, "-l",
                     "--log-prefix", f"{logs}/log")
        lines = [line for log in pathlib.Path(logs).iterdir() for line in open(log)]
        shutil.rmtree(logs)
        latencies = sorted(int(line.split()[2]) for line in lines)
        return latencies[len(latencies) * 99 // 100]

    @contextlib.contextmanager
    def analytical(self):
        """Runs a query over all accounts again and again meanwhile."""
        over, runs = threading.Event(), []
        def again():
            while not over.is_set():
                subprocess.run(["psql", "-qXc", ANALYTICAL], env=self.environment(), check=True,
                               stdout=subprocess.DEVNULL)
                runs.append(1)
        thread = threading.Thread(target=again)
        thread.start()
        time.sleep(0.3)
        try:
            yield runs
        finally:
            over.set()
            thread.join()


def latencies(servers, limit_mb, args):
    print(f"{limit_mb:5} MB  99th percentile of look-ups, 2 clients, in microseconds")
    sides = {name: ([], [], []) for name in servers}
    for _ in range(args.rounds):
        for name, server in servers.items():
            idle, loaded, ratios = sides[name]
            idle.append(server.p99_us(args.seconds))
            with server.analytical() as runs:
                loaded.append(server.p99_us(args.seconds))
            if not runs:
                print(f"    {name}: the analytical query did not end in this time")
            ratios.append(loaded[-1] / idle[-1])
    for name, (idle, loaded, ratios) in sides.items():
        print(f"    {name:11} idle {figures(idle)}  beside a query {figures(loaded)}  "
              f"ratio {figures(ratios)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=int, default=100)
    parser.add_argument("--memory", default="4096,512", help="limits in MB")
    parser.add_argument("--clients", default="1,16,64")
    parser.add_argument("--protocols", default="prepared,simple")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--binary", default=str(ROOT / "target/release/dovetail"))
    parser.add_argument("--folder", default=None, help="where the scratch folder is made")
    args = parser.parse_args()
    in_scratch_folder("pgbench", args, run)


def run(folder, args):
    limits = [int(m) for m in args.memory.split(",")]
    for number, limit_mb in enumerate(limits):
        servers = {name: Watched(name, folder, limit_mb, args.binary) for name in PORTS}
        try:
            for server in servers.values():
                if number == 0:
                    server.pgbench("-i", "-q", "-s", args.scale)
                # What is to be in memory is brought there.
                server.measure(["-S"], "prepared", 16, args.seconds)
            for protocol in args.protocols.split(","):
                for clients in map(int, args.clients.split(",")):
                    def measure(server):
                        return server.measure(["-S"], protocol, clients, args.seconds)
                    title = f"{limit_mb:5} MB  {protocol:9} {clients:3} clients"
                    compare(servers, title, measure, args.rounds)
            latencies(servers, limit_mb, args)
        finally:
            for server in servers.values():
                server.stop()


main()
