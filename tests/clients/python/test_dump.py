"""pg_dump of a database, restored by psql into an empty Dovetail and, where its server is installed,
into PostgreSQL; PostgreSQL's dump restored into Dovetail; and dumps beside writers, which are one
snapshot. `CLIENTS_BINARY` is the server's binary, for the empty databases; without it the server is
PostgreSQL itself, which makes them."""

import contextlib
import functools
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time

import psycopg

from checks import Checks, Skip, equal

VERSION = subprocess.run(["pg_dump", "--version"], capture_output=True, text=True).stdout.split()
check = Checks(VERSION[2] if len(VERSION) > 2 else "-")
BINARY = os.environ.get("CLIENTS_BINARY")
POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")
HERE = pathlib.Path(__file__).parent.parent / "dump"
SOURCE = {name: os.environ[name] for name in ("PGHOST", "PGPORT", "PGUSER", "PGDATABASE")}


def run(command, place, **more):
    """What a program of PostgreSQL prints, to the byte; a failure is that of the check."""
    done = subprocess.run(command, capture_output=True, timeout=50, env={**os.environ, **place}, **more)
    if done.returncode:
        raise AssertionError(f"{command[0]}: {done.stderr.decode().strip()[-250:]}")
    return done.stdout.decode()


def dump(place, *options):
    text = run(["pg_dump", *options], place)
    if "PostgreSQL database dump complete" not in text:
        raise AssertionError("the dump has no end")
    return text


def restore(text, place):
    run(["psql", "--no-psqlrc", "--quiet", "--variable=ON_ERROR_STOP=1", "--output=/dev/null", "--file=-"],
        place, input=text.encode())


def statements(text):
    """The statements of a dump without what differs from one to the next: versions, owners and keys."""
    lines = [re.sub(r"; Owner: .*", "", line) for line in text.split("\n")]
    left_out = re.compile(r"-- Dumped |\\(un)?restrict |ALTER .* OWNER TO ")
    return [line for line in lines if line and not left_out.match(line)]


def same_statements(one, other):
    one, other = statements(one), statements(other)
    for left, right in zip(one, other):
        equal(right, left)
    equal(len(other), len(one))


@contextlib.contextmanager
def dovetail():
    """A server with an empty database."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        with log.open("w") as out:
            server = subprocess.Popen([BINARY, "serve", "--data", f"{folder}/empty.dovetail", "--no-http",
                                       "--listen", "127.0.0.1:0"], stdout=out, stderr=out)
        try:
            yield {"PGHOST": "127.0.0.1", "PGPORT": port_of(server, log), "PGUSER": "dovetail",
                   "PGDATABASE": "empty"}
        finally:
            server.terminate()
            server.wait(20)


def port_of(server, log):
    for _ in range(300):
        found = re.search(r"Listening at 127.0.0.1:(\d+)", log.read_text())
        if found:
            return found.group(1)
        if server.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError(f"the second server did not start: {log.read_text()[-200:]}")


@contextlib.contextmanager
def database_of_reference():
    """Another database of the PostgreSQL that is tested."""
    place = {**SOURCE, "PGDATABASE": f"{SOURCE['PGDATABASE']}_empty"}
    run(["createdb", place["PGDATABASE"]], SOURCE)
    try:
        yield place
    finally:
        run(["dropdb", "--force", place["PGDATABASE"]], SOURCE)


def empty():
    return dovetail() if BINARY else database_of_reference()


@contextlib.contextmanager
def postgresql():
    """A PostgreSQL of our own at a socket that only this check knows."""
    if not (POSTGRES / "initdb").exists():
        raise Skip("PostgreSQL's server is not installed")
    user = "postgres" if os.geteuid() == 0 else None
    folder = tempfile.mkdtemp(prefix="dovetail-dump-")
    if user:
        shutil.chown(folder, user)
    tool = lambda *command: subprocess.run(command, user=user, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    try:
        tool(POSTGRES / "initdb", "-D", f"{folder}/pg", "-A", "trust", "-E", "UTF8", "--locale=C", "-N",
             "-U", "dovetail")
        options = f"-c fsync=off -c port=5432 -c listen_addresses= -c timezone=UTC -k {folder}"
        tool(POSTGRES / "pg_ctl", "-D", f"{folder}/pg", "-w", "-l", f"{folder}/log", "-o", options, "start")
        yield {"PGHOST": folder, "PGPORT": "5432", "PGUSER": "dovetail", "PGDATABASE": "postgres"}
    finally:
        subprocess.run([POSTGRES / "pg_ctl", "-D", f"{folder}/pg", "-m", "immediate", "stop"], user=user,
                       cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


def forget_everything(place):
    with psycopg.connect(**{name[2:].lower().replace("database", "dbname"): value
                            for name, value in place.items()}, autocommit=True) as c:
        c.execute("set client_min_messages = error")
        kinds = "select relkind, relname from pg_class where relnamespace = 'public'::regnamespace"
        for kind, word in (("v", "view"), ("r", "table"), ("S", "sequence")):
            for (name,) in c.execute(f"select relname from ({kinds}) k where relkind = '{kind}'").fetchall():
                c.execute(f'drop {word} if exists "{name}" cascade')


def statements_for(dovetail):
    text = (HERE / "shop.sql").read_text()
    return text if dovetail else text.replace(" with (storage = column)", "")


@functools.cache
def shop(*options):
    """A dump of the database that the statements make: they are run once."""
    if options:
        shop()
    else:
        forget_everything(SOURCE)
        restore(statements_for(BINARY), SOURCE)
    return dump(SOURCE, *options)


@check
def definitions_alone():
    text = shop("--schema-only")
    for part in ("CREATE TABLE public.customer", "ADD GENERATED ALWAYS AS IDENTITY", "FOREIGN KEY",
                 "CREATE VIEW public.owed", "CREATE INDEX", "CREATE SEQUENCE", "COMMENT ON COLUMN"):
        equal(part in text, True)
    equal("COPY " in text, False)


@check
def restored_into_an_empty_database():
    with empty() as place:
        restore(shop(), place)
        same_statements(shop(), dump(place))
        inserts(place)


@check
def dropped_and_restored():
    text = shop("--clean", "--if-exists")
    restore(text, SOURCE)
    same_statements(text, dump(SOURCE, "--clean", "--if-exists"))


@check
def restored_from_inserts():
    with empty() as place:
        restore(shop("--column-inserts"), place)
        same_statements(shop(), dump(place))


@check
def restored_from_an_archive():
    if not shutil.which("pg_restore"):
        raise Skip("pg_restore is not installed")
    with empty() as place, tempfile.TemporaryDirectory() as folder:
        shop()
        run(["pg_dump", "--format=custom", f"--file={folder}/shop.dump"], SOURCE)
        run(["pg_restore", "--exit-on-error", f"--dbname={place['PGDATABASE']}", f"{folder}/shop.dump"], place)
        same_statements(shop(), dump(place))


@check
def restored_into_postgresql_and_back():
    plain = "--no-table-access-method"
    with postgresql() as theirs:
        restore(shop(plain), theirs)
        there = dump(theirs, plain)
        inserts(theirs)
    same_statements(in_same_words(shop(plain)), in_same_words(there))
    with empty() as place:
        restore(there, place)
        same_statements(in_same_words(there), in_same_words(dump(place, plain)))


@check
def postgresql_dump_restored():
    with postgresql() as theirs, empty() as place:
        restore(statements_for(None) + (HERE / "further.sql").read_text(), theirs)
        restore(dump(theirs), place)
        again = dump(place)
        same_statements(in_same_words(dump(theirs)), in_same_words(again))
        run(["createdb", "again"], theirs)
        restore(again, {**theirs, "PGDATABASE": "again"})


def in_same_words(text):
    """A dump without what Dovetail leaves as it was written: views over several relations, and defaults
    with sequences in the middle of an expression."""
    text = re.sub(r"CREATE (OR REPLACE )?VIEW [^;]*;", "", text)
    return re.sub(r"DEFAULT \('T'.*\)", "DEFAULT", text)


def inserts(place):
    """Sequences go on where they stood, and constraints hold."""
    sql = """insert into customer (name) values ('new') returning id;
      insert into invoice (customer, note) values (1, 'later') returning id;
      select nextval('ticket')"""
    found = run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql.replace("\n", " ")], place).split()
    equal(found, ["4", "4", "115"])
    for wrong in ("insert into customer (name, balance) values ('x', -1)",
                  "insert into invoice (customer) values (99)",
                  "insert into invoice (id, customer) values (1, 1)",
                  "insert into customer (born) values ('2000-01-01')"):
        done = subprocess.run(["psql", "-XAtqc", wrong], env={**os.environ, **place}, capture_output=True)
        equal(done.returncode, 1)


@check
def one_snapshot_beside_writers():
    """Money goes from one table to the other: a dump has all of it, wherever it is."""
    ACCOUNTS, TOTAL = 200, 2 * 200 * 100
    connect = lambda: psycopg.connect("", autocommit=True)
    with connect() as c:
        c.execute("drop table if exists here, there")
        for table in ("here", "there"):
            c.execute(f"create table {table} (id int primary key, amount int not null)")
            c.execute(f"insert into {table} select i, 100 from generate_series(1, {ACCOUNTS}) i")
    stop, moved, failed = threading.Event(), [0], []

    def move(seed):
        try:
            with psycopg.connect("") as c:
                while not stop.is_set():
                    seed = (seed * 1103515245 + 12345) % 2**31
                    source, target = ("here", "there") if seed % 2 else ("there", "here")
                    one, other = seed % ACCOUNTS + 1, seed // ACCOUNTS % ACCOUNTS + 1
                    c.execute(f"update {source} set amount = amount - 1 where id = {one}")
                    c.execute(f"update {target} set amount = amount + 1 where id = {other}")
                    c.commit()
                    moved[0] += 1
        except psycopg.Error as error:
            failed.append(error)

    writers = [threading.Thread(target=move, args=(seed,)) for seed in (1, 2)]
    [writer.start() for writer in writers]
    states = set()
    try:
        for _ in range(4):
            before = moved[0]
            rows = re.findall(r"(?m)^\d+\t(-?\d+)$", dump(SOURCE, "--data-only", "--table=here", "--table=there"))
            equal((len(rows), sum(map(int, rows))), (2 * ACCOUNTS, TOTAL))
            states.add(tuple(rows))
            equal(moved[0] > before, True)
    finally:
        stop.set()
        [writer.join() for writer in writers]
    equal((failed, len(states)), ([], 4))
    with connect() as c:
        c.execute("drop table here, there")


if __name__ == "__main__":
    check.main()
