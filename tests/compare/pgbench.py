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
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")
PORTS = {"dovetail": 5871, "postgresql": 5872}
ANALYTICAL = """select bid, count(*), sum(abalance), max(filler) from pgbench_accounts
                group by bid order by 2, 1 limit 10"""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Group:
    """A control group with a limit of memory; version 1 or 2, whichever is mounted."""

    def __init__(self, name, limit_bytes):
        root = pathlib.Path("/sys/fs/cgroup")
        is_v2 = (root / "cgroup.controllers").exists()
        self.path = (root if is_v2 else root / "memory") / f"dovetail-{name}"
        self.path.mkdir(exist_ok=True)
        limit = "memory.max" if is_v2 else "memory.limit_in_bytes"
        (self.path / limit).write_text(str(limit_bytes))

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def pids(self):
        return [int(p) for p in (self.path / "cgroup.procs").read_text().split()]

    def remove(self):
        for _ in range(50):
            try:
                return self.path.rmdir()
            except OSError:
                time.sleep(0.1)


def cpu_s(pids):
    """CPU time of processes that run, with that of their children that have ended."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += sum(int(fields[i]) for i in (11, 12, 13, 14))
    return total / TICKS_PER_S


class Server:
    """One of the two, in its control group."""

    def __init__(self, name, folder, limit_mb, binary):
        self.name, self.folder = name, folder
        self.group = Group(name, limit_mb << 20)
        self.port = PORTS[name]
        start = self.start_dovetail if name == "dovetail" else self.start_postgresql
        self.process = start(limit_mb, binary)
        self.wait()

    def start_dovetail(self, limit_mb, binary):
        # What the allocator and the threads need stays outside of the engine's own limit.
        memory = f"{int(limit_mb * 0.85)}MB"
        pool = f"{int(limit_mb * 0.7)}MB"
        command = [binary, "serve", "--data", self.folder / "d.dovetail", "--memory", memory,
                   "--pool", pool, "--listen", f"127.0.0.1:{self.port}", "--max-connections", "100"]
        return self.spawn(command)

    def start_postgresql(self, limit_mb, _):
        data = self.folder / "pg"
        settings = {"shared_buffers": f"{int(limit_mb * 0.6)}MB", "max_connections": 100,
                    "unix_socket_directories": str(self.folder), "autovacuum": "off",
                    "listen_addresses": "127.0.0.1", "port": self.port, "max_wal_size": "4GB"}
        options = [x for k, v in settings.items() for x in ("-c", f"{k}={v}")]
        return self.spawn([POSTGRES / "postgres", "-D", data, *options], user="postgres")

    def spawn(self, command, user=None):
        log = open(self.folder / f"{self.name}.log", "a")
        return subprocess.Popen([str(c) for c in command], stdout=log, stderr=log, user=user,
                                preexec_fn=self.group.enter)

    def environment(self):
        return os.environ | {"PGHOST": "127.0.0.1", "PGPORT": str(self.port),
                             "PGUSER": "postgres", "PGDATABASE": "postgres"}

    def wait(self):
        for _ in range(300):
            ready = subprocess.run([POSTGRES / "pg_isready", "-q"], env=self.environment())
            if ready.returncode == 0:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        log = (self.folder / f"{self.name}.log").read_text()
        sys.exit(f"{self.name} did not start:\n{log[-2000:]}")

    def pgbench(self, *args):
        command = [str(POSTGRES / "pgbench"), *map(str, args)]
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{self.name}: {' '.join(command)}\n{done.stderr[-2000:]}")
        return done.stdout

    def measure(self, protocol, clients, seconds):
        """Transactions per second, and microseconds of the server's CPU for each."""
        pids = [self.process.pid] if self.name == "dovetail" else self.group.pids()
        before = cpu_s(pids)
        text = self.pgbench("-S", "-n", "-M", protocol, "-c", clients, "-j", 2, "-T", seconds)
        used = cpu_s(pids) - before
        tps = float(re.search(r"tps = ([\d.]+)", text).group(1))
        count = int(re.search(r"transactions actually processed: (\d+)", text).group(1))
        return tps, used * 1e6 / count

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

    def stop(self):
        self.process.send_signal(signal.SIGTERM if self.name == "dovetail" else signal.SIGINT)
        self.process.wait()
        self.group.remove()


def figures(values):
    middle = statistics.median(values)
    return f"{middle:10.1f} ({min(values):.1f}-{max(values):.1f})"


def compare(servers, limit_mb, protocol, clients, args):
    runs = {name: [] for name in servers}
    for _ in range(args.rounds):
        for name, server in servers.items():
            runs[name].append(server.measure(protocol, clients, args.seconds))
    ours, theirs = runs["dovetail"], runs["postgresql"]
    ratios = [a[0] / b[0] for a, b in zip(ours, theirs)]
    cpu = [a[1] / b[1] for a, b in zip(ours, theirs)]
    print(f"{limit_mb:5} MB  {protocol:9} {clients:3} clients", flush=True)
    for name, side in runs.items():
        tps, us = [r[0] for r in side], [r[1] for r in side]
        print(f"    {name:11} {figures(tps)} tps  {figures(us)} us CPU each")
    print(f"    ratio       {figures([r * 100 for r in ratios])} % tps  "
          f"{figures([c * 100 for c in cpu])} % CPU each", flush=True)


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
    if os.geteuid() != 0 or not (POSTGRES / "postgres").exists():
        sys.exit("skipped: this needs root and PostgreSQL 15")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dovetail-pgbench-", dir=args.folder))
    try:
        run(folder, args)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder, args):
    shutil.chown(folder, "postgres")
    folder.chmod(0o755)
    subprocess.run([POSTGRES / "initdb", "-D", folder / "pg", "-A", "trust", "-E", "UTF8",
                    "--locale=C"], user="postgres", stdout=subprocess.DEVNULL, check=True)
    limits = [int(m) for m in args.memory.split(",")]
    for number, limit_mb in enumerate(limits):
        servers = {name: Server(name, folder, limit_mb, args.binary) for name in PORTS}
        try:
            for server in servers.values():
                if number == 0:
                    server.pgbench("-i", "-q", "-s", args.scale)
                # What is to be in memory is brought there.
                server.measure("prepared", 16, args.seconds)
            for protocol in args.protocols.split(","):
                for clients in map(int, args.clients.split(",")):
                    compare(servers, limit_mb, protocol, clients, args)
            latencies(servers, limit_mb, args)
        finally:
            for server in servers.values():
                server.stop()


main()
