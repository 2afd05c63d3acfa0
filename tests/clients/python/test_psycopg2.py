"""psycopg2: values, batches, COPY, errors, blocks, named cursors, cancelling."""

import datetime as dt
import decimal
import io
import threading
import uuid

import psycopg2
import psycopg2.extras

from checks import Checks, Skip, equal, raises

check = Checks(psycopg2.__version__.split()[0])
psycopg2.extras.register_uuid()


def connect(**options):
    c = psycopg2.connect("", **options)
    c.autocommit = True
    return c


def rows(c, query, parameters=None):
    with c.cursor() as cursor:
        cursor.execute(query, parameters)
        return cursor.fetchall()


@check
def values_round_trip():
    c = connect()
    cursor = c.cursor()
    cursor.execute("drop table if exists two")
    cursor.execute("create table two (id int primary key, n numeric(9,3), f float8, b boolean,"
                   " t text, d date, ts timestamp, tz timestamptz, i interval, u uuid, y bytea,"
                   " a int[], ta text[])")
    row = (1, decimal.Decimal("1.500"), 0.1, True, "it's \\ é", dt.date(2020, 2, 29),
           dt.datetime(2020, 1, 2, 3, 4, 5, 6),
           dt.datetime(2020, 1, 2, tzinfo=dt.timezone.utc), dt.timedelta(days=1, seconds=2),
           uuid.UUID(int=5), b"\0\xff'", [1, None, 2], ["a", None, 'b"c'])
    cursor.execute(f"insert into two values ({', '.join(['%s'] * len(row))})", row)
    found = rows(c, "select * from two")[0]
    found = found[:10] + (bytes(found[10]),) + found[11:]
    equal(found, row)
    cursor.execute("insert into two (id) values (2)")
    equal(rows(c, "select n, a, tz from two where id = 2"), [(None, None, None)])
    cursor.execute("drop table two")


@check
def batches_of_values():
    c = connect()
    cursor = c.cursor()
    cursor.execute("drop table if exists batch")
    cursor.execute("create table batch (id int primary key, t text)")
    data = [(i, f"t{i}") for i in range(1000)]
    psycopg2.extras.execute_values(cursor, "insert into batch values %s", data, page_size=300)
    psycopg2.extras.execute_values(
        cursor, "update batch set t = v.t from (values %s) v(id, t) where batch.id = v.id",
        [(i, "new") for i in range(5)])
    equal(cursor.rowcount, 5)
    psycopg2.extras.execute_batch(cursor, "delete from batch where id = %s",
                                 [(i,) for i in range(100)])
    equal(rows(c, "select count(*), min(id) from batch"), [(900, 100)])
    cursor.execute("drop table batch")


@check
def copy_in_and_out():
    c = connect()
    cursor = c.cursor()
    cursor.execute("drop table if exists cp")
    cursor.execute("create table cp (id int primary key, t text)")
    cursor.copy_from(io.StringIO("1\tone\n2\t\\N\n"), "cp")
    cursor.copy_expert("copy cp from stdin with (format csv, header true)",
                       io.StringIO('id,t\n3,"a,b"\n'))
    equal(rows(c, "select * from cp order by id"), [(1, "one"), (2, None), (3, "a,b")])
    out = io.StringIO()
    try:
        cursor.copy_expert("copy (select * from cp order by id) to stdout with csv", out)
    except psycopg2.errors.FeatureNotSupported as error:
        raise Skip(f"refused: {error.diag.message_primary}") from error
    equal(out.getvalue(), '1,one\n2,\n3,"a,b"\n')
    cursor.execute("drop table cp")


@check
def errors_are_classes():
    c = connect()
    cursor = c.cursor()
    raises("42P01", cursor.execute, "select * from nowhere")
    raises("22P02", cursor.execute, "select %s::int", ("x",))
    try:
        cursor.execute("select 1 / 0")
    except psycopg2.errors.DivisionByZero as error:
        equal(error.diag.message_primary, "division by zero")


@check
def a_block_commits_and_rolls_back():
    c = psycopg2.connect("")
    equal(rows(c, "select 1"), [(1,)])
    c.commit()
    raises("22012", rows, c, "select 1 / 0")
    raises("25P02", rows, c, "select 1")
    c.rollback()
    c.set_session(isolation_level="READ UNCOMMITTED", readonly=True, deferrable=True)
    equal(rows(c, "select 1"), [(1,)])
    c.rollback()


@check
def a_named_cursor_gives_rows_in_parts():
    c = psycopg2.connect("")
    try:
        with c.cursor("parts") as cursor:
            cursor.itersize = 10
            cursor.execute("select g from generate_series(1, 95) g")
            equal(sum(row[0] for row in cursor), 95 * 96 // 2)
    except psycopg2.errors.FeatureNotSupported as error:
        raise Skip(f"refused: {error.diag.message_primary}") from error


@check
def cancel():
    c = connect()
    timer = threading.Timer(0.5, c.cancel)
    timer.start()
    raises("57014", rows, c, "select count(*) from generate_series(1, 3000) a,"
           " generate_series(1, 3000) b, generate_series(1, 3000) c where a + b + c < 0")
    timer.join()
    equal(rows(c, "select 1"), [(1,)])


@check
def dict_rows_and_notices():
    c = connect()
    with c.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
        cursor.execute("select 1 as a, 'x' as b")
        equal(dict(cursor.fetchone()), {"a": 1, "b": "x"})
    rows(c, "drop table if exists nothing_here; select 1")
    equal(c.notices, ['NOTICE:  table "nothing_here" does not exist, skipping\n'])


@check
def client_encoding_and_parameters():
    c = connect(application_name="two")
    equal(c.get_parameter_status("application_name"), "two")
    c.set_client_encoding("UTF8")
    equal(c.encoding, "UTF8")
    equal(c.server_version // 10000 >= 15, True)


if __name__ == "__main__":
    check.main()
