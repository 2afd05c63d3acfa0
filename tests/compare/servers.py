"""Two servers side by side, each in a control group: Dovetail and PostgreSQL 15."""

import contextlib
import os
import pathlib
import pwd
import re
import signal
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")
PORTS = {"dovetail": 5871, "postgresql": 5872}
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Group:
    """A control group with a limit of memory; version 1 or 2, whichever is mounted."""

    def __init__(self, name, limit_bytes):
        root = pathlib.Path("/sys/fs/cgroup")
        is_v2 = (root / "cgroup.controllers").exists()
        self.path = (root if is_v2 else root / "memory") / f"dovetail-{name}"
        self.path.mkdir(exist_ok=True)
        self.limit = self.path / ("memory.max" if is_v2 else "memory.limit_in_bytes")
        self.allow(limit_bytes)

    def allow(self, limit_bytes):
        self.limit.write_text(str(limit_bytes))

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def pids(self):
        return [int(p) for p in (self.path / "cgroup.procs").read_text().split()]

    def remove(self):
        for _ in range(50):
            try:
                return self.path.rmdir() if self.path.exists() else None
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
    """One of the two, in its control group; `settings` are PostgreSQL's own on top. Dovetail's
    pool has that share of the memory; without one it is as by default."""

    def __init__(self, name, folder, limit_mb, binary, data="d.dovetail", settings=None,
                 pool_share=0.7):
        self.name, self.folder, self.limit_mb, self.binary = name, folder, limit_mb, binary
        self.pool_share = pool_share
        self.data, self.settings = data, settings or {}
        # What clients set when they connect: `-c name=value`.
        self.client_options = ""
        self.group = Group(name, limit_mb << 20)
        self.port = PORTS[name]
        self.start()

    def start(self):
        start = self.start_dovetail if self.name == "dovetail" else self.start_postgresql
        self.process = start()
        self.wait()

    def start_dovetail(self):
        # What the allocator and the threads need stays outside of the engine's own limit.
        memory = f"{int(self.limit_mb * 0.85)}MB"
        command = [self.binary, "serve", "--data", self.folder / self.data, "--memory", memory,
                   "--listen", f"127.0.0.1:{self.port}", "--max-connections", "100"]
        if self.pool_share:
            command += ["--pool", f"{int(self.limit_mb * self.pool_share)}MB"]
        return self.spawn(command)

    def start_postgresql(self):
        settings = {"shared_buffers": f"{int(self.limit_mb * 0.6)}MB", "max_connections": 100,
                    "unix_socket_directories": str(self.folder), "autovacuum": "off",
                    "listen_addresses": "127.0.0.1", "port": self.port,
                    "max_wal_size": "4GB"} | self.settings
        options = [x for k, v in settings.items() for x in ("-c", f"{k}={v}")]
        command = [POSTGRES / "postgres", "-D", self.folder / "pg", *options]
        return self.spawn(command, user="postgres")

    def spawn(self, command, user=None):
        log = open(self.folder / f"{self.name}.log", "a")

        def enter():
            # The group first: afterwards the process may not any more.
            self.group.enter()
            if user:
                entry = pwd.getpwnam(user)
                os.setgroups([])
                os.setgid(entry.pw_gid)
                os.setuid(entry.pw_uid)

        return subprocess.Popen([str(c) for c in command], stdout=log, stderr=log,
                                preexec_fn=enter)

    def environment(self):
        return os.environ | {"PGHOST": "127.0.0.1", "PGPORT": str(self.port),
                             "PGUSER": "postgres", "PGDATABASE": "postgres",
                             "PGOPTIONS": self.client_options}

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

    def call(self, *command, text=None):
        """What a client's program prints; its failure ends everything."""
        command = [str(c) for c in command]
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True,
                              input=text)
        if done.returncode != 0:
            sys.exit(f"{self.name}: {' '.join(command)[:200]}\n{done.stderr[-2000:]}")
        return done.stdout

    def halt(self):
        self.process.send_signal(signal.SIGTERM if self.name == "dovetail" else signal.SIGINT)
        self.process.wait()

    def stop(self):
        self.halt()
        self.group.remove()


class Measured(Server):
    """A server that `pgbench` measures."""

    def pgbench(self, *args):
        return self.call(POSTGRES / "pgbench", *args)

    def measure(self, workload, protocol, clients, seconds):
        """Transactions per second, and microseconds of the server's CPU for each; `workload` is what
        `pgbench` is told to run."""
        pids = [self.process.pid] if self.name == "dovetail" else self.group.pids()
        before = cpu_s(pids)
        text = self.pgbench(*workload, "-n", "-M", protocol, "-c", clients, "-j", min(2, clients),
                            "-T", seconds)
        # PostgreSQL's processes end after their clients, and are counted when their parent knows.
        time.sleep(0.3)
        used = cpu_s(pids) - before
        tps = float(re.search(r"tps = ([\d.]+)", text).group(1))
        count = int(re.search(r"transactions actually processed: (\d+)", text).group(1))
        return tps, used * 1e6 / count


def compare(servers, title, measure, rounds):
    """Measures the sides by turns; prints medians (min-max), and the ratio of each pair."""
    runs = {name: [] for name in servers}
    for _ in range(rounds):
        for name, server in servers.items():
            runs[name].append(measure(server))
    ours, theirs = runs["dovetail"], runs["postgresql"]
    ratios = [a[0] / b[0] for a, b in zip(ours, theirs)]
    cpu = [a[1] / b[1] for a, b in zip(ours, theirs)]
    print(title, flush=True)
    for name, side in runs.items():
        tps, us = [r[0] for r in side], [r[1] for r in side]
        print(f"    {name:11} {figures(tps)} tps  {figures(us)} us CPU each")
    print(f"    ratio       {figures([r * 100 for r in ratios])} % tps  "
          f"{figures([c * 100 for c in cpu])} % CPU each", flush=True)


def initdb(folder):
    """A PostgreSQL of its own in `folder`, for everybody on this machine."""
    subprocess.run([POSTGRES / "initdb", "-D", folder / "pg", "-A", "trust", "-E", "UTF8",
                    "--locale=C"], user="postgres", stdout=subprocess.DEVNULL, check=True)


def check():
    """Ends everything unless control groups are to be had."""
    if os.geteuid() != 0 or not (POSTGRES / "postgres").exists():
        sys.exit("skipped: this needs root and PostgreSQL 15")


def prepare(folder):
    """Makes `folder` one that PostgreSQL may use."""
    shutil.chown(folder, "postgres")
    folder.chmod(0o755)
    initdb(folder)


def in_scratch_folder(name, args, run):
    """Calls `run` with a new folder that PostgreSQL may use, and removes it."""
    check()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"dovetail-{name}-", dir=args.folder))
    try:
        prepare(folder)
        run(folder, args)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def figures(values):
    middle = statistics.median(values)
    return f"{middle:10.1f} ({min(values):.1f}-{max(values):.1f})"
