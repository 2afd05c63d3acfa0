#!/usr/bin/env python3
"""The shapes of statements that applications send, against PostgreSQL 15 and 18: `pgbench`, the sides in turn.

    python3 tests/compare/shapes.py                        all shapes, three protocols, 1 and 16 clients: 60 minutes
    python3 tests/compare/shapes.py --shapes "IN of" --protocols prepared --clients 1
    python3 tests/compare/shapes.py --more                 other shapes, which no figure of the issue has
    python3 tests/compare/shapes.py --list

A cell is a shape, a protocol (as text, unnamed extended, prepared) and a number of clients. In each cell the sides run
in turns, `--rounds` times for `--seconds`, each in a control group with the same memory. The opponent is PostgreSQL 15;
of prepared statements it is 18, a binary package that is fetched (without it a loud skip, and 15 stays).

Printed is for each cell the median (min-max) of the ratio of transactions a second, ours over theirs, and of the
servers' processor time for each. Then, for each number of clients, the geometric means of the medians, and the cells
whose whole interval lies below 1.0. Both sides sync each commit. A statement that a side refuses ends the cell, is
printed, and counts as refused: the exit status is 1 then.

Needs root, PostgreSQL 15 with pgbench (Debian: `postgresql-15`), and a release build (`--binary`).
"""

import argparse
import statistics
import sys

import newer
from servers import PORTS, ROOT, Measured, in_scratch_folder
from shape_list import MORE, SETUP, SHAPES

PROTOCOLS = ["simple", "extended", "prepared"]
PORTS["postgresql18"] = 5873


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="", help="those whose name has this text")
    parser.add_argument("--protocols", default=",".join(PROTOCOLS))
    parser.add_argument("--clients", default="1,16")
    parser.add_argument("--memory", type=int, default=1024, help="limit in MB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--binary", default=str(ROOT / "target/release/dovetail"))
    parser.add_argument("--folder", default=None, help="where the scratch folder is made")
    parser.add_argument("--more", action="store_true", help="other shapes: groups, sets, windows, disjunctions, queues, recursion")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def chosen(args):
    return MORE if args.more else SHAPES


def interval(values):
    return f"{statistics.median(values):7.3g} ({min(values):.3g}-{max(values):.3g})"


class Cell:
    """What was measured of one shape in one protocol with so many clients."""

    def __init__(self, name, protocol, clients):
        self.name, self.protocol, self.clients = name, protocol, clients
        self.rates, self.times = [], []

    def measure(self, ours, theirs, workload, args):
        for _ in range(args.rounds):
            mine = ours.measure(workload, self.protocol, self.clients, args.seconds)
            other = theirs.measure(workload, self.protocol, self.clients, args.seconds)
            self.rates.append(mine[0] / other[0])
            # Both are counted in hundredths of a second, so that none is possible.
            self.times.append(mine[1] / max(other[1], 0.01))
        print(f"{self.name:28} {self.protocol:9} {self.clients:3}  rate {interval(self.rates)}  "
              f"processor time {interval(self.times)}", flush=True)

    def is_below(self):
        return max(self.rates) < 1.0


def attempt(cell, ours, theirs, workload, args):
    """Whether both sides could run the cell. A statement that is refused ends pgbench, and `measure` with it."""
    try:
        cell.measure(ours, theirs, workload, args)
        return True
    except SystemExit as refused:
        print(f"{cell.name:28} {cell.protocol:9} {cell.clients:3}  REFUSED: {str(refused)[-300:]}", flush=True)
        return False


def summary(cells, refused):
    for clients in sorted({cell.clients for cell in cells}):
        some = [cell for cell in cells if cell.clients == clients]
        rate = statistics.geometric_mean(statistics.median(cell.rates) for cell in some)
        time = statistics.geometric_mean(max(statistics.median(cell.times), 1e-6) for cell in some)
        below = [cell for cell in some if cell.is_below()]
        print(f"{clients} clients, {len(some)} cells: geometric mean of the rates {rate:.3f}, of the processor time "
              f"{time:.3f}; {len(below)} cells wholly below 1.0")
    print(f"{refused} cells refused")


def servers(folder, args):
    ours = Measured("dovetail", folder, args.memory, args.binary)
    older = Measured("postgresql", folder, args.memory, args.binary)
    newer.Newer.programs = newer.programs()
    newest = newer.Newer("postgresql18", folder, args.memory, args.binary) if newer.Newer.programs else None
    return ours, older, newest


def run(folder, args):
    ours, older, newest = servers(folder, args)
    sides = [side for side in (ours, older, newest) if side]
    cells, refused = [], 0
    try:
        for side in sides:
            side.call("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-f", "-", text=SETUP + "analyze;")
        for name, script in chosen(args).items():
            if args.shapes not in name:
                continue
            path = folder / "shape.sql"
            path.write_text(script + "\n")
            for protocol in args.protocols.split(","):
                theirs = newest if newest and protocol == "prepared" else older
                for clients in map(int, args.clients.split(",")):
                    cell = Cell(name, protocol, clients)
                    if attempt(cell, ours, theirs, ["-f", path], args):
                        cells.append(cell)
                    else:
                        refused += 1
        summary(cells, refused)
    finally:
        for side in sides:
            side.stop()
    sys.exit(1 if refused else 0)


def main():
    args = arguments()
    if args.list:
        print("\n".join(chosen(args)))
        return
    in_scratch_folder("shapes", args, run)


if __name__ == "__main__":
    main()
