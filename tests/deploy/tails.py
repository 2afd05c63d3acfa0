#!/usr/bin/env python3
"""How long two neighbours wait beside statements about many rows, and the longest that a task kept a worker.

    tests/deploy/tails.py [--seconds 5] [--rows 300000] [--memory 2GB] [--workers 1] [--only TEXT] [--binary FILE]
                                                                default: the release build that cargo has made

One neighbour reads a row by its key again and again, the other one changes one, of a table of their own; a third session
runs the same statement until the seconds are over, in a server of its own over the same file. A line says how often it
ran; of the reads and of the changes the median, the 99th percentile and the greatest time in milliseconds; and the
longest portions by kind of task, processor time between two suspensions (`dovetail_portions`). The first line has
nothing beside the neighbours. It is a figure: what fails is a wrong answer. The last line is that of a test harness.
"""

import argparse
import pathlib
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import served
import wire

NEIGHBOUR_ROWS = 1000
# Kinds of tasks that a line names, the longest first.
KINDS_SHOWN = 3
# Rows that are few enough to be changed in place, which goes by the memory of the server.
IN_PLACE = 50_000

SETUP = """
    create table near (id int primary key, v int not null);
    insert into near select i, 0 from generate_series(1, {near}) g(i);
    create table many (id int primary key, k int, v text, u float8);
    insert into many select i, i % 997, 'value ' || i, i * 0.5 from generate_series(1, {rows}) g(i);
    create index many_k on many (k);
    create table empty (id int primary key, k int, v text, u float8);
    copy many to '{folder}/text';
    copy many to '{folder}/csv' (format csv);
    copy many to '{folder}/binary' (format binary);
    analyze;
"""

# The statements of one round; each round leaves the rows of the table as many as they were.
STATEMENTS = {
    "nothing": [],
    "REORGANIZE": ["reorganize table many"],
    "ALTER .. TYPE": ["alter table many alter column k type bigint", "alter table many alter column k type int"],
    "ALTER .. ADD COLUMN": ["alter table many add column z float8 default random()",
                            "alter table many drop column z"],
    "UPDATE of all rows": ["update many set u = u + 1"],
    "UPDATE in place": ["update many set u = u + 1 where id <= {in_place}"],
    "UPDATE in place of keys": ["update many set k = k + 1 where id <= {in_place}"],
    "UPDATE in place, undone": ["begin", "update many set u = u + 1 where id <= {in_place}", "rollback"],
    "UPDATE of all rows, undone": ["begin", "update many set u = u + 1", "rollback"],
    "DELETE in place, undone": ["begin", "delete from many where id <= {in_place}", "rollback"],
    "DELETE of all rows, undone": ["begin", "delete from many", "rollback"],
    "INSERT in place, undone": ["begin", "insert into empty select * from many where id <= {in_place}", "rollback"],
    "CREATE TABLE AS, DROP": ["create table copied as select * from many", "drop table copied"],
    "CREATE INDEX": ["create index many_v on many (v)", "drop index many_v"],
    "COPY in, text": ["copy empty from '{folder}/text'", "truncate empty"],
    "COPY in, CSV": ["copy empty from '{folder}/csv' (format csv)", "truncate empty"],
    "COPY in, binary": ["copy empty from '{folder}/binary' (format binary)", "truncate empty"],
    "COPY out, text": ["copy many to '{folder}/out'"],
    "COPY out, CSV": ["copy many to '{folder}/out' (format csv)"],
    "COPY out, binary": ["copy many to '{folder}/out' (format binary)"],
    "ANALYZE": ["analyze many"],
    "GROUP BY": ["select count(*) from (select v, sum(u) from many group by v) s"],
    "a hash join": ["select count(*) from many a join many b on a.v = b.v"],
    "ORDER BY": ["select v from many order by v desc offset {rows} - 1"],
    "a window": ["select max(s) from (select sum(u) over (partition by k order by id) s from many) w"],
    "CHECK DATABASE": ["check database"],
}


class Neighbour(threading.Thread):
    """Asks the same until it is stopped; what each answer took, in milliseconds."""

    def __init__(self, port, text):
        super().__init__(daemon=True)
        self.session, self.text = wire.Connection(port, timeout=600), text
        self.took_ms, self.wrong, self.is_over = [], [], threading.Event()

    def run(self):
        while not self.is_over.is_set():
            begin = time.perf_counter()
            try:
                rows = self.session.query(self.text)
            except (wire.Refused, OSError, EOFError) as error:
                self.wrong.append(repr(error))
                return
            self.took_ms.append((time.perf_counter() - begin) * 1e3)
            if self.text.startswith("select") and rows != [["7"]]:
                self.wrong.append(str(rows))

    def end(self):
        self.is_over.set()
        self.join()
        self.session.close()

    def figures(self):
        took = sorted(self.took_ms) or [0.0]
        at = lambda share: took[min(len(took) - 1, int(len(took) * share))]
        return f"{at(0.5):7.2f} {at(0.99):8.2f} {took[-1]:8.2f}"


class Run:
    """Statements one after the other, each beside two neighbours."""

    def __init__(self, args, folder):
        self.args, self.folder, self.data = args, folder, folder / "tails.dovetail"
        self.checks = served.Checks()
        self.names = {"rows": args.rows, "near": NEIGHBOUR_ROWS, "folder": folder,
                      "in_place": min(IN_PLACE, args.rows)}
        self.changed = 0

    def start(self):
        flags = ["--memory", self.args.memory, "--workers", str(self.args.workers)]
        return served.Served(self.args.binary, self.data, *flags, log_in=self.folder)

    def set_up(self):
        server = self.start()
        session = wire.Connection(server.port, timeout=3600)
        for text in SETUP.format(**self.names).split(";"):
            session.query(text)
        session.query("update near set v = 7 where id = 1")
        session.close()
        server.stop()

    def beside(self, name, texts):
        server = self.start()
        reader = Neighbour(server.port, "select v from near where id = 1")
        writer = Neighbour(server.port, "update near set v = v + 1 where id = 2")
        session = wire.Connection(server.port, timeout=3600)
        [neighbour.start() for neighbour in (reader, writer)]
        begin, rounds, refused = time.perf_counter(), 0, ""
        while (left := self.args.seconds + begin - time.perf_counter()) > 0 and not refused:
            try:
                [session.query(text.format(**self.names)) for text in texts]
            except wire.Refused as error:
                refused = repr(error)
            rounds += 1
            time.sleep(0 if texts else left)
        [neighbour.end() for neighbour in (reader, writer)]
        portions = session.query("select kind, longest_ms from dovetail_portions order by longest_ms desc")
        self.check(name, session, (reader, writer), refused)
        session.close()
        self.checks.check(f"{name}: the server ends well", server.stop(patience_s=120) == 0)
        shown = ", ".join(f"{float(ms):.1f} {kind}" for kind, ms in portions[:KINDS_SHOWN])
        print(f"{name:28}{rounds:4}   {reader.figures()}   {writer.figures()}   {shown}", flush=True)

    def check(self, name, session, neighbours, refused):
        reader, writer = neighbours
        self.changed += len(writer.took_ms)
        wrong = [refused] * bool(refused) + reader.wrong + writer.wrong
        self.checks.check(f"{name}: all is answered", not wrong, wrong[:3])
        count = int(session.query("select v from near where id = 2")[0][0])
        self.checks.check(f"{name}: all changes are there", count == self.changed, (count, self.changed))
        count = int(session.query("select count(*) from many")[0][0])
        self.checks.check(f"{name}: all rows are there", count == self.args.rows, count)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/dovetail")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dovetail-tails-") as folder:
        run = Run(args, pathlib.Path(folder))
        run.set_up()
        times = f"{'median':>7} {'p99':>8} {'greatest':>8}"
        print(f"{'beside':28}{'runs':>4}   {times}   {times}   longest portions, ms\n{'':35}a read by key{'':15}a change")
        for name, texts in STATEMENTS.items():
            if not texts or args.only in name:
                run.beside(name, texts)
    print(f"{run.checks.passed} passed, {run.checks.failed} failed, 0 ignored")
    return run.checks.failed > 0


if __name__ == "__main__":
    sys.exit(main())
