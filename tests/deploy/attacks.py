#!/usr/bin/env python3
"""Statements that try to keep a server busy, one after another, beside a client that asks for next to nothing.

    tests/deploy/attacks.py [--strict] [--only TEXT] [BINARY]    default: the debug build that cargo has made

The server has one worker. While an attack runs, another client sends `select 1` again and again: the
longest that it waits is printed. An attack that has not ended after a while is cancelled: printed is the
time from its cancel to its end. Then the neighbour's answers and a new login are tried once more.

Some attacks ask for more memory or time than a small server gives (`WITHIN`): each names how it must end, as its rows or
as SQLSTATEs; another end fails. They run at a memory of 256 MB, and the process's own memory must stay below 1.2 times
that and 64 MiB.

With `--strict`, for a release build on a quiet machine, a wait or an end of more than 100 ms fails. Without
it only what hangs fails: the limits are wide, for builds and machines that are slow. The last line is that
of a test harness.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import served
import wire

# How long an attack may go on before it is cancelled.
PATIENCE_S = 1.0
# The target, and what a slow machine with a debug build must keep.
STRICT_MS, WIDE_MS = 100, 20_000

# What is known to keep others waiting for longer than the wide limit, and why. With `--strict` it fails; without it is
# counted as ignored.
KNOWN = {}

# Of a server with little memory: its size, and what the process may have of its own in KiB.
SMALL_MEMORY_MB = 256
RSS_KIB_MAX = int(SMALL_MEMORY_MB * 1024 * 1.2) + 64 * 1024

# How each may end: as one value, or with one of these SQLSTATEs. The time is limited to a second by its setting.
OUT_OF_MEMORY, TOO_LONG, CANCELLED = "53200", "54000", "57014"
REFUSED = {OUT_OF_MEMORY, CANCELLED}
WITHIN = {
    # Constants: none of these is computed while it is planned.
    "a constant of 300 MB": ("select length(repeat('x', 300000000))", REFUSED),
    "a constant of 300 MB, explained": ("explain select length(repeat('x', 300000000))", None),
    "a constant of 1 GB": ("select length(repeat('x', 1000000000))", REFUSED),
    "a constant beyond 1 GB": ("select length(repeat('x', 2000000000))", {TOO_LONG}),
    "a constant of replace": ("select length(replace(repeat('x', 60000), 'x', repeat('y', 60000)))",
                              REFUSED | {TOO_LONG}),
    "a constant of regexp_replace": ("select length(regexp_replace(repeat('x', 60000), 'x', repeat('y', 60000), 'g'))",
                                     REFUSED | {TOO_LONG}),
    "a constant of concat": (f"select length(concat({', '.join(['repeat(chr(120), 10000000)'] * 20)}))", REFUSED),
    "a constant of ||": (f"select length({' || '.join(['repeat(chr(120), 10000000)'] * 20)})", REFUSED),
    "a constant of string_to_array": ("select cardinality(string_to_array(repeat('a,', 10000000), ','))", REFUSED),
    "a constant of array_fill": ("select cardinality(array_fill(1::bigint, array[50000000]))", REFUSED),
    "a constant of rpad": ("select length(rpad('x', 200000000, 'ab'))", REFUSED),
    "a constant of to_char": ("select length(to_char(1, repeat('9', 50000000)))", REFUSED),
    "a constant of format": ("select length(format('%100000000s', 'x'))", REFUSED),
    "a constant in VALUES": ("select length(v) from (values (repeat('x', 300000000))) t(v)", REFUSED),
    "a constant that fits": ("select length(repeat('x', 10000000))", "10000000"),
    # Rows of one megabyte.
    "wide rows, counted": ("select count(t) from (select repeat('x', 1000000) || g as t"
                           " from generate_series(1, 50) g) s", "50"),
    "wide rows, the greatest": ("select length(max(repeat('x', 1000000) || g)) from generate_series(1, 20) g", "1000001"),
    "wide rows, distinct": ("select count(distinct t) from (select repeat('x', 1000000) || g as t"
                            " from generate_series(1, 1000) g) s", REFUSED),
    "wide rows, sorted": ("select length(t) from (select repeat('x', 1000000) || g as t from generate_series(1, 100) g"
                          " order by 1 offset 99) s", REFUSED | {"1 rows"}),
    "wide rows as a list": ("select length(string_agg(repeat('x', 1000000), ',')) from generate_series(1, 5000)", REFUSED),
    "pieces of a long text": ("select count(*) from regexp_split_to_table(repeat('a,', 20000000), ',')", REFUSED),
    # Patterns.
    "a pattern for each row": ("select count(*) from generate_series(1, 100000) g"
                               r" where 'abc' ~ ('a{' || g % 1000 || '}\w{100}' || g)", {CANCELLED}),
    "a pattern that is too complex": (r"select 'abc' ~ ('((a{1,100}){1,100}){1,' || g || '}')"
                                      " from generate_series(100, 100) g", {"2201B", CANCELLED}),
}

# A table of 600 MB in long texts, and statements about all of it: each comes to its end, for a limit of time would hide
# how much memory it is on its way to.
LONG_ROWS = """
    create table docs (id int primary key, t text);
    insert into docs select g, repeat('x', 500000) || g from generate_series(1, 1200) g;
    create table keys (id int primary key, v text);
    insert into keys select g, 'v' from generate_series(1, 1200) g;
    create table lines (id int, t text);
"""
LONG = {
    # Records that have no end.
    "a long line of text": ("copy lines from stdin", {TOO_LONG}, lambda: b"1\t" + b"x" * 240_000_000),
    "a long record of CSV": ("copy lines from stdin (format csv)", {TOO_LONG}, lambda: b"1," + b"x" * 240_000_000),
    "a long quoted field of CSV": ("copy lines from stdin (format csv)", {TOO_LONG},
                                   lambda: b'1,"' + b"x\n" * 120_000_000),
    "long rows, read": ("select sum(length(t)) from docs", "600003693"),
    "long rows, filtered": ("select count(*) from docs where t like '%99'", "12"),
    "long rows, looked up": ("select sum(length(d.t)) from keys k join docs d on d.id = k.id", "600003693"),
    "long rows, fetched": ("select length(min(t)) from docs where id in (select id from keys where id % 2 = 0)", "500002"),
    "long rows as a list": ("select cardinality(array_agg(t)) from docs", {OUT_OF_MEMORY}),
    "long rows, few changed": ("update docs set t = t || 'x' where id < 20", "0 rows"),
    "long rows, copied": ("insert into keys select id + 5000, t from docs", "0 rows"),
    "long rows, analysed": ("analyze docs", "0 rows"),
    "long rows, rewritten": ("alter table docs add column z int default 5", "0 rows"),
    "long rows, deleted": ("delete from docs where id % 2 = 0", "0 rows"),
    "long values of VALUES": ("insert into keys values "
                              + ", ".join(f"({i}, repeat('x', 1000000))" for i in range(20000, 20500)), {OUT_OF_MEMORY}),
    "long keys of an order": ("select g from generate_series(1, 500) g order by repeat('x', 1000000) || g offset 499",
                              "99"),
    "long keys of a join": ("select count(*) from generate_series(1, 300) g join generate_series(1, 300) h"
                            " on repeat('x', 1000000) || g = repeat('x', 1000000) || h", "300"),
    "long keys of partitions": ("select max(x) from (select row_number() over (partition by repeat('x', 1000000) || g) x"
                                " from generate_series(1, 400) g) s", "1"),
    "long texts of pairs": ("select count(*) from keys k where exists (select 1 from docs d where d.id < 9"
                            " and k.v || d.t = d.t || k.v)", {OUT_OF_MEMORY}),
}
LONG_TIMEOUT_S, LONG_PATIENCE_S = 60, 90

# Small arguments of which a function may make much, and calls of each function with some of them: what is as
# long as an argument says must be asked for first.
T, I, A = "repeat('ab', 500)", "50000000", "array[1, 2, 3]"
CALLS = [[T], [I], [T, T], [T, I], [I, I], [A, T], [I, f"array[{I}]"], [A, A], [T, T, T], [T, I, T], [I, I, I], [T, T, I]]

# Functions that act on the server or on other sessions, or wait.
EXEMPT = ("pg_", "lo_", "set", "nextval", "currval", "txid_", "ts_", "query_to", "table_to", "schema_to", "database_to")

SETUP = """
    create table t (id int primary key, k int, v text, u float8);
    insert into t select i, i % 97, 'value ' || i, i * 0.5 from generate_series(1, 100000) as g(i);
    create table few (id int primary key, k int);
    insert into few select i, i % 5 from generate_series(1, 12) as g(i);
    analyze;
"""


def nested(function, depth, inner="1", rest=""):
    return f"{function}(" * depth + inner + f"{rest})" * depth


def cases(depth, between="{}"):
    text = "id"
    for level in range(depth):
        text = between.format(f"case when k > {level} then {text} end")
    return text


def joined(count):
    tables = ", ".join(f"few t{i}" for i in range(count))
    keys = " and ".join(f"t{i}.id = t{i + 1}.id" for i in range(count - 1))
    return f"select count(*) from {tables} where {keys}"


def subqueries(depth):
    text = "select id, k from few"
    for level in range(depth):
        text = f"select id, k from ({text}) s{level} where id > (select min(id) - 1 from few)"
    return text


def joins_in_parentheses(depth):
    text = "few"
    for level in range(depth):
        text = f"((select * from {text}) a{level} cross join few b{level})"
    return f"select 1 from {text}"


def withs(count):
    parts = ["q0 as (select id from few)"]
    parts += [f"q{i} as (select a.id from q{i - 1} a join q{i - 1} b on a.id = b.id)" for i in range(1, count)]
    return f"with {', '.join(parts)} select count(*) from q{count - 1}"


def windows(count):
    text = "select id, k from few"
    for level in range(count):
        text = f"select id, sum(k) over (partition by id order by k) as k from ({text}) s{level}"
    return text


def million(text, joint=", ", count=1_000_000):
    return joint.join(text for _ in range(count))


ATTACKS = {
    # Planning.
    "nested calls": f"select {nested('abs', 26)}",
    "nested calls, as deep as may be": f"select {nested('abs', 46)}",
    "nested calls by another name": f"select {nested('char_length', 40, repr('x'))}",
    "nested calls of two arguments": f"select {nested('coalesce', 40, '1', ', 2')}",
    "nested calls with a syntax error": f"select {nested('left', 40, '1 1', ', 2')}",
    "nested position": f"select {nested('position', 30, '1', ', 2')}",
    "nested casts": "select " + "(" * 40 + "1" + "::text)::int" * 40,
    "nested arrays": f"select {'array[' * 30}1{']' * 30}",
    "nested unnest": f"select {nested('unnest', 30, 'array[1]')}",
    "nested CASE": f"select {cases(40)} from few",
    "nested CASE in calls": f"select {cases(24, 'abs({})')} from few",
    "nested subqueries": subqueries(20),
    "nested EXISTS": "select 1 from few where " + "exists (select 1 from few where " * 20 + "true" + ")" * 20,
    "nested joins in parentheses": joins_in_parentheses(20),
    "deep parentheses": f"select {'(' * 46}1{')' * 46}",
    "deep arithmetic": "select " + million("1", " + ", 290),
    "deep arithmetic of columns": "select " + million("k", " + ", 290) + " from few",
    "deep NOT": "select " + "not " * 46 + "true",
    "long AND": "select count(*) from few where " + million("k > 1", " and ", 290),
    "long OR": "select count(*) from few where " + " or ".join(f"k = {i} and id > {i}" for i in range(2000)),
    "long IN": f"select count(*) from few where k in ({', '.join(map(str, range(100_000)))})",
    "long VALUES": f"select count(*) from (values {million('(1, 2)', ', ', 100_000)}) v",
    "long array": f"select array_length(array[{million('1', ', ', 200_000)}], 1)",
    "many columns": "select " + ", ".join(f"k + {i} as c{i}" for i in range(1600)) + " from few",
    "many joins": joined(40),
    "CUBE": "select count(*) from t group by cube(id, k, v, u, (id + 1), (k + 1), (k + 2), (k + 3))",
    "WITH of WITH": withs(24),
    "windows in windows": windows(20),
    "UNION of many": " union all ".join(f"select {i}" for i in range(1000)),
    "a text of 16 MB": f"select length('{'x' * (16 << 20)}')",
    "a list of 16 MB": f"select count(*) from few where k in ({million('1', ',', 8 << 20)})",
    "a name of 16 MB": f"select 1 as {'x' * (16 << 20)}",
    "a large regular expression": "select count(*) from t where v ~ '(((a{1,100}){1,100}){1,100}){1,100}'",
    "a slow regular expression": "select regexp_replace(repeat('a', 2000000), '(a|aa)+$', 'b', 'g')",
    "a large repeat": "select length(repeat('x', 500000000))",
    "a large hash": "select md5(repeat('x', 400000000))",
    "a large split": "select count(*) from string_to_table(repeat('a,', 10000000), ',') x",
    "a large lpad": "select length(lpad('x', 300000000, 'ab'))",
    # Series and other functions with rows.
    "a series, counted": "select count(*) from generate_series(1, 100000000)",
    "a series with a limit": "select * from generate_series(1, 100000000000) limit 1",
    "a series in the select list": "select count(*) from (select generate_series(1, 100000000) x) s",
    "a series of bigint, summed": "select sum(x) from generate_series(1::bigint, 100000000000) x",
    "a series of numeric": "select count(*) from generate_series(0.0, 100000000.0, 0.1)",
    "a series of timestamps": "select count(*) from generate_series(timestamp '2000-01-01', '9000-01-01', '1 minute')",
    "a series of instants": "select count(*) from generate_series(timestamptz '2000-01-01', '9000-01-01', '1 minute')",
    "a series, explained": "explain select count(*) from generate_series(1, 100000000)",
    "series times series": "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b",
    "a series, sorted": "select x from generate_series(1, 10000000) x order by -x offset 9999999",
    "a series, grouped": "select count(*) from (select x, count(*) from generate_series(1, 10000000) x group by x) s",
    "a series for each row": "select count(*) from t, lateral generate_series(1, t.id) x",
    "unnest of long arrays": "select count(*) from (select unnest(array_agg(a.id)) from t a, few b) s",
    # Execution.
    "a join of all with all": "select count(*) from t a, t b where a.u + b.u < 0",
    "a hash join of many": "select count(*) from t a join t b on a.k = b.k",
    "a sort": "select a.v from t a, few b order by a.v desc, b.id offset 1199999",
    "a window": "select max(s) from (select sum(u) over (order by id rows 50000 preceding) s from t) w",
    "a window of lists": "select max(length(s)) from (select string_agg(v, '') over (order by id) s from t) w",
    "a distinct count": "select count(distinct a.v || b.id) from t a, few b",
    "a list of all": "select length(string_agg(a.v, ',')) from t a, few b",
    "a recursion": "with recursive r(i) as (select 1 union all select i + 1 from r where i < 100000000)"
                   " select count(*) from r",
    "a recursion that grows": "with recursive r(i) as (select 1 union all select i + 1 from r, few where i < 30)"
                              " select count(*) from r",
    "a subquery for each row": "select count(*) from t where k > (select avg(k) from t b where b.k = t.k)",
    "regular expressions": "select count(*) from t a, few b where a.v ~ ('(.*' || b.id || '.*)+x')",
    "an insert": "insert into t select i, 1, repeat('x', 50), 1 from generate_series(200000, 1200000) g(i)",
    "an update": "update t set v = v || 'x', k = k + 1",
    "a check of the database": "check database",
    "a sleep": "select pg_sleep(100)",
}


class Served(served.Served):
    """A server with one worker."""

    def __init__(self, binary, folder, memory_mb=512):
        data = pathlib.Path(folder, "t.dovetail")
        super().__init__(binary, data, "--workers", "1", "--memory", f"{memory_mb}MB", log_in=data.parent)

    def own_kib(self):
        """Memory of the process that no file is behind."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0])

    def busy_s(self):
        """Processor time of all its threads."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        try:
            return super().stop(patience_s=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Neighbour(threading.Thread):
    """A client that asks for next to nothing, and notes the longest that it waited."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.session, self.ends, self.longest_ms, self.error = wire.Connection(port), False, 0.0, None

    def run(self):
        try:
            while not self.ends:
                began = time.monotonic()
                self.session.query("select 1")
                self.longest_ms = max(self.longest_ms, (time.monotonic() - began) * 1000)
                time.sleep(0.002)
        except (OSError, EOFError, wire.Refused) as error:
            self.error = error


class Attack(threading.Thread):
    """A statement, and how it ended."""

    def __init__(self, port, text, data=b""):
        super().__init__(daemon=True)
        self.session, self.text, self.outcome, self.ended = wire.Connection(port), text, "", None
        self.rows, self.data = None, data

    def run(self):
        try:
            rows = self.session.query(self.text, self.data)
            self.outcome, self.rows = f"{len(rows)} rows", rows
        except wire.Refused as refused:
            self.outcome = refused.state
        except (OSError, EOFError) as error:
            self.outcome = f"lost: {error}"
        self.ended = time.monotonic()


def attacked(server, text):
    """The neighbour's longest wait, the time from cancel to end if it was cancelled, and the outcome."""
    attack, neighbour = Attack(server.port, text), Neighbour(server.port)
    neighbour.start()
    attack.start()
    attack.join(PATIENCE_S)
    end_ms = None
    if attack.ended is None:
        cancelled = time.monotonic()
        attack.session.cancel()
        attack.join(WIDE_MS / 1000)
        end_ms = (attack.ended - cancelled) * 1000 if attack.ended else float("inf")
    neighbour.ends = True
    neighbour.join(WIDE_MS / 1000)
    wait_ms = float("inf") if neighbour.is_alive() or neighbour.error else neighbour.longest_ms
    if attack.ended:
        attack.session.close()
    return wait_ms, end_ms, attack.outcome or "hangs"


class Watched(threading.Thread):
    """Notes the most memory that a server has."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.ends, self.most_kib = server, False, 0

    def run(self):
        while not self.ends:
            self.most_kib = max(self.most_kib, self.server.own_kib())
            time.sleep(0.01)


def check_functions(server):
    """Calls every function that there is; names what ends otherwise than with a row or an error of SQL."""
    session = wire.Connection(server.port)
    session.query("set statement_timeout = '1s'")
    names = [name for name, in session.query("select distinct proname from pg_proc where prokind = 'f' order by 1")]
    wrong = []
    for name in (name for name in names if not name.startswith(EXEMPT)):
        for arguments in CALLS:
            text = f"select count(*) from (select \"{name}\"({', '.join(arguments)})) s"
            try:
                session.query(text)
            except wire.Refused as refused:
                if refused.state in ("XX000", "57P01"):
                    wrong.append(f"{text}: {refused.state}")
            if (kib := server.own_kib()) > RSS_KIB_MAX:
                wrong.append(f"{text}: {kib >> 10} MiB")
                break
    session.close()
    return wrong


def is_right(attack, wanted):
    """True if an attack ended as it must: None is any rows."""
    if isinstance(wanted, set):
        return attack.outcome in wanted
    if wanted == "0 rows":
        return attack.outcome == wanted
    is_one = attack.rows is not None and (wanted is None or [list(row) for row in attack.rows] == [[wanted]])
    return is_one


def ends_within(server, name, case, timeout_s=1, patience_s=WIDE_MS / 1000):
    """True if an attack ends as it must, within its memory, and nothing goes on behind its end."""
    text, wanted, *data = case
    watched, attack = Watched(server), Attack(server.port, text, *(made() for made in data))
    attack.session.query(f"set statement_timeout = '{timeout_s}s'")
    watched.start()
    began = time.monotonic()
    attack.start()
    attack.join(patience_s)
    took_ms = ((attack.ended or time.monotonic()) - began) * 1000
    time.sleep(0.1)
    before = server.busy_s()
    time.sleep(0.2)
    goes_on = server.busy_s() - before > 0.15
    watched.ends = True
    watched.join()
    held = attack.ended is not None and is_right(attack, wanted) and watched.most_kib <= RSS_KIB_MAX
    held = held and not goes_on
    more = "" if held else f"    FAILED, wanted {wanted}{', and it goes on' if goes_on else ''}"
    print(f"{took_ms:>6.0f} ms  {watched.most_kib >> 10:>5} MiB  {attack.outcome or 'hangs':<10} {name}{more}", flush=True)
    if attack.ended:
        attack.session.close()
    return held


def check_within(binary, names, calls_functions):
    """Statements that ask for much of a small server: how many attacks ended as they must, and how many did not."""
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="dovetail-test-") as folder:
        server = Served(binary, folder, SMALL_MEMORY_MB)
        print(f"{'time':>9}  {'memory':>9}  outcome    attack")
        for name in names:
            held = ends_within(server, name, WITHIN[name])
            passed, failed = passed + held, failed + (not held)
            if not held:
                server.stop()
                server = Served(binary, folder, SMALL_MEMORY_MB)
        if calls_functions:
            wrong = check_functions(server)
            print("\n".join([f"every function: {len(wrong)} wrong", *wrong[:20]]), flush=True)
            passed, failed = passed + (not wrong), failed + bool(wrong)
        passed, failed = (passed + 1, failed) if server.stop() == 0 else (passed, failed + 1)
    return passed, failed


def check_long(binary, names):
    """Statements about a table of long texts, on a small server: how many ended as they must, and how many did not."""
    passed = failed = 0
    if not names:
        return passed, failed
    with tempfile.TemporaryDirectory(prefix="dovetail-test-") as folder:
        server = Served(binary, folder, SMALL_MEMORY_MB)
        wire.Connection(server.port).query(LONG_ROWS)
        for name in names:
            held = ends_within(server, name, LONG[name], LONG_TIMEOUT_S, LONG_PATIENCE_S)
            passed, failed = passed + held, failed + (not held)
        passed, failed = (passed + 1, failed) if server.stop() == 0 else (passed, failed + 1)
    return passed, failed


def check_all(binary, names, within, long, calls_functions, limit_ms):
    passed, failed = map(sum, zip(check_within(binary, within, calls_functions), check_long(binary, long)))
    ignored = 0
    worst_wait = worst_end = 0.0
    with tempfile.TemporaryDirectory(prefix="dovetail-test-") as folder:
        server = Served(binary, folder)
        wire.Connection(server.port).query(SETUP)
        print(f"{'longest wait':>12}  {'cancel to end':>13}  outcome    attack")
        for name in names:
            wait_ms, end_ms, outcome = attacked(server, ATTACKS[name])
            held = wait_ms <= limit_ms and (end_ms is None or end_ms <= limit_ms)
            held = held and outcome not in ("hangs", "XX000") and not outcome.startswith("lost")
            known = "" if held or limit_ms == STRICT_MS else KNOWN.get(name, "")
            passed, failed, ignored = passed + held, failed + (not held and not known), ignored + bool(known)
            worst_wait, worst_end = max(worst_wait, wait_ms), max(worst_end, end_ms or 0.0)
            ended = "-" if end_ms is None else f"{end_ms:.0f} ms"
            print(f"{wait_ms:>9.0f} ms  {ended:>13}  {outcome:<10} {name}{'' if held else f'    known: {known}' if known else '    FAILED'}", flush=True)
            if outcome == "hangs" or wait_ms == float("inf"):
                server.process.kill()
                server.process.wait()
                server = Served(binary, folder)
        passed, failed = (passed + 1, failed) if server.stop() == 0 else (passed, failed + 1)
    print(f"worst: a wait of {worst_wait:.0f} ms, {worst_end:.0f} ms from cancel to end; limit {limit_ms} ms")
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; {ignored} ignored;")
    return failed == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--only", default="", help="attacks whose names contain this")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("binary", nargs="?", default=target / "debug" / "dovetail", type=pathlib.Path)
    given = parser.parse_args()
    names = [name for name in ATTACKS if given.only in name]
    within = [name for name in WITHIN if given.only in name]
    long = [name for name in LONG if given.only in name]
    limit_ms = STRICT_MS if given.strict else WIDE_MS
    calls_functions = given.only in "every function"
    sys.exit(not check_all(given.binary.resolve(), names, within, long, calls_functions, limit_ms))


if __name__ == "__main__":
    main()
