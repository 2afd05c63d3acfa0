#!/usr/bin/env python3
"""Statements and transactions that write, against PostgreSQL 15: `pgbench`, both sides in turn.

    python3 tests/compare/writers.py --scale 10 --clients 1,16
    python3 tests/compare/writers.py --workloads update --commits on,off

Both servers get the same memory in all, by a control group each, and both sync each commit to the
device before they acknowledge it, or with `--commits off` behind that (`synchronous_commit`). For each workload and number of clients the sides alternate; printed are the medians (min,
max) of transactions per second, the server's CPU time for each, and the ratios of the pairs.

The workloads: `update`, one row of 1,000 by its key; `insert`, one row; `tpcb`, pgbench's own five
statements in a block; `simple`, its `-N`, without the rows that all clients change.

Needs root, PostgreSQL 15 with pgbench (Debian: `postgresql-15`), and a release build (`--binary`).
Everything is made in a scratch folder, which is removed.
"""

import argparse

from servers import PORTS, ROOT, Measured, compare, in_scratch_folder

SETUP = """create table counter (id int primary key, v int);
           insert into counter select i, 0 from generate_series(1, 1000) as g(i);
           create table event (id bigint generated always as identity primary key, k int, note text)"""

SCRIPTS = {
    "update": "\\set id random(1, 1000)\nupdate counter set v = v + 1 where id = :id;\n",
    "insert": "\\set k random(1, 1000000)\ninsert into event (k, note) values (:k, 'something');\n",
}


def workload(folder, name):
    """What `pgbench` is told to run."""
    if name not in SCRIPTS:
        return {"tpcb": ["-b", "tpcb-like"], "simple": ["-b", "simple-update"]}[name]
    path = folder / f"{name}.sql"
    path.write_text(SCRIPTS[name])
    return ["-f", path]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=int, default=10)
    parser.add_argument("--memory", type=int, default=1024, help="limit in MB")
    parser.add_argument("--workloads", default="update,insert,tpcb,simple")
    parser.add_argument("--clients", default="1,16")
    parser.add_argument("--commits", default="on", help="of `synchronous_commit`: on, off")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--binary", default=str(ROOT / "target/release/dovetail"))
    parser.add_argument("--folder", default=None, help="where the scratch folder is made")
    args = parser.parse_args()
    args.workloads = args.workloads.split(",")
    unknown = set(args.workloads) - {*SCRIPTS, "tpcb", "simple"}
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    in_scratch_folder("writers", args, run)


def run(folder, args):
    servers = {name: Measured(name, folder, args.memory, args.binary) for name in PORTS}
    try:
        for server in servers.values():
            server.pgbench("-i", "-q", "-s", args.scale)
            server.call("psql", "-qXc", SETUP)
        for commit in args.commits.split(","):
            for server in servers.values():
                server.client_options = f"-c synchronous_commit={commit}"
            for name in args.workloads:
                measure_workload(servers, folder, name, commit, args)
    finally:
        for server in servers.values():
            server.stop()


def measure_workload(servers, folder, name, commit, args):
    told = workload(folder, name)
    for clients in map(int, args.clients.split(",")):
        def measure(server):
            return server.measure(told, "prepared", clients, args.seconds)
        compare(servers, f"{name:7} {clients:3} clients, commit {commit}", measure, args.rounds)


main()
