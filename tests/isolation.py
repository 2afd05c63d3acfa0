#!/usr/bin/env python3
"""What sessions do to each other: published cases, step by step, at every level of isolation.

    python3 tests/isolation.py [--binary FILE] [--case deadlock]
    python3 tests/isolation.py --record --port 5432 --user postgres     # from PostgreSQL 15, never from this engine

A file of `tests/isolation` has cases; a step is the number of a session and what it sends. Behind the steps of
a case stand its outcomes at each level, written by `--record`: the result of each step, `waits` where it had to
wait for a lock, and what became of it then behind the step that let it go on. An outcome that is different here
stands behind `here at LEVEL: reason`; it is written by hand, and must be exactly that. Where a step waits is
asked of `pg_stat_activity`, so nothing hangs on the clock.

Prints each case that fails, then a line like those of a test harness; ends with 1 if one failed.
"""

import argparse
import pathlib
import queue
import re
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import wire

FOLDER = pathlib.Path(__file__).resolve().parent / "isolation"
ROOT = FOLDER.parents[1]
LEVELS = ["read committed", "repeatable read", "serializable"]
WAITS = "select count(*) from pg_stat_activity where pid = {} and wait_event_type = 'Lock'"
PATIENCE_S = 60


class Case:
    """A case of a file: its steps, and its outcomes by what they stand behind."""

    def __init__(self, text):
        lines = text.strip().split("\n")
        self.name, self.steps, self.outcomes = lines[0], [], {}
        kept = self.steps
        for line in lines[1:]:
            if line.startswith(("at ", "here at ")):
                kept = self.outcomes.setdefault(line, [])
            else:
                kept.append(line)

    def text(self):
        lines = [self.name, *self.steps]
        for head, outcome in self.outcomes.items():
            lines += [head, *outcome]
        return "\n".join(lines)

    def expected(self, level):
        own = next((head for head in self.outcomes if head.startswith(f"here at {level}: ")), None)
        return self.outcomes.get(own or f"at {level}:")


def read(path):
    head, *cases = re.split(r"^(?=case )", path.read_text(), flags=re.M)
    setup = re.search(r"^setup: (.*)$", head, re.M).group(1)
    return head, setup, [Case(text) for text in cases]


class Session(threading.Thread):
    """A session with a thread of its own, which sends one step at a time."""

    def __init__(self, connect):
        super().__init__(daemon=True)
        self.connection = connect()
        self.pid = self.connection.query("select pg_backend_pid()")[0][0]
        self.steps, self.results, self.is_open = queue.Queue(), queue.Queue(), False
        self.start()

    def run(self):
        while (step := self.steps.get()) is not None:
            try:
                rows = self.connection.query(step)
                shown = "; ".join("|".join(value if value is not None else "NULL" for value in row) for row in rows)
                self.results.put(shown if step.startswith("select") else self.connection.tag)
            except wire.Refused as refused:
                self.results.put(f"ERROR {refused.state}")

    def send(self, step):
        self.steps.put(step)
        self.is_open = True

    def result(self):
        """What came of the step, `None` as long as nothing has."""
        try:
            result = self.results.get_nowait()
        except queue.Empty:
            return None
        self.is_open = False
        return result or "(no rows)"

    def close(self):
        self.steps.put(None)
        self.connection.close()


def play(connect, setup, case, level, is_recorded=False):
    """The outcome of a case, one line a step."""
    admin = connect()
    for table in re.findall(r"create table (\w+)", setup)[::-1]:
        admin.query(f"drop table if exists {table} cascade")
    admin.query(setup)
    sessions, outcome = {}, []
    for step in case.steps:
        number, text = step.split(" ", 1)
        if number not in sessions:
            sessions[number] = Session(connect)
            sessions[number].connection.query(f"set default_transaction_isolation = '{level}'")
            if is_recorded:
                # Who closes a circle finds it before others look.
                sessions[number].connection.query("set deadlock_timeout = '10ms'")
        session = sessions[number]
        if session.is_open:
            outcome.append(f"{number} is still waiting")
            continue
        session.send(text)
        outcome.append(f"{number} {settled(admin, session)}")
        for other, waiting in sorted(sessions.items()):
            if waiting.is_open and (result := settled(admin, waiting)) != "waits":
                outcome.append(f"  {other} goes on: {result}")
    for session in sessions.values():
        session.close()
    admin.close()
    return outcome


def settled(admin, session):
    """The result of a session's step, or that it waits for a lock: twice in a row, as it may be about to go on."""
    end, waited = time.monotonic() + PATIENCE_S, 0
    while time.monotonic() < end:
        if result := session.result():
            return result
        waits = admin.query(WAITS.format(session.pid)) == [["1"]]
        waited = waited + 1 if waits else 0
        if waited == 3:
            return session.result() or "waits"
        time.sleep(0.01 if not waited else 0.05)
    raise SystemExit("a step neither ends nor waits for a lock")


def compare(connect, args):
    passed, failed = 0, 0
    for path in sorted(FOLDER.glob("*.txt")):
        _, setup, cases = read(path)
        for case in cases:
            if args.case not in case.name:
                continue
            for level in LEVELS:
                outcome, expected = play(connect, setup, case, level), case.expected(level)
                passed, failed = passed + (outcome == expected), failed + (outcome != expected)
                if outcome != expected:
                    print(f"{path.name}: {case.name} at {level}")
                    for line in case.steps:
                        print(f"      {line}")
                    print("   expected:", *(expected or ["nothing is recorded"]), sep="\n      ")
                    print("   found:", *outcome, sep="\n      ")
    print(f"test result: {'ok' if failed == 0 else 'FAILED'}. {passed} passed; {failed} failed; 0 ignored")
    return failed == 0


def record(connect):
    for path in sorted(FOLDER.glob("*.txt")):
        head, setup, cases = read(path)
        for case in cases:
            own = {head: lines for head, lines in case.outcomes.items() if head.startswith("here at ")}
            case.outcomes = {f"at {level}:": play(connect, setup, case, level, True) for level in LEVELS} | own
        path.write_text(head + "\n\n".join(case.text() for case in cases) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default=str(ROOT / "target" / "debug" / "dovetail"))
    parser.add_argument("--case", default="", help="only those whose names have this")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--port", type=int, default=5432)
    parser.add_argument("--user", default="postgres")
    args = parser.parse_args()
    if args.record:
        record(lambda: wire.Connection(args.port, user=args.user))
        return
    with wire.Server(args.binary, "--workers", "2", "--memory", "64MB") as port:
        sys.exit(0 if compare(lambda: wire.Connection(port, user="dovetail"), args) else 1)


if __name__ == "__main__":
    main()
