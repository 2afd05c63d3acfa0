"""psycopg 3: both formats, pipelines, COPY, portals, cancelling, errors, notices, blocks."""

import datetime as dt
import decimal
import ipaddress
import threading
import time
import uuid

import psycopg
from psycopg import sql
from psycopg.rows import class_row, dict_row, namedtuple_row

from checks import Checks, Skip, equal, raises

check = Checks(psycopg.__version__)
D = decimal.Decimal


def connect(**options):
    options.setdefault("autocommit", True)
    return psycopg.connect("", **options)


def value(query, parameters=None, binary=False, **options):
    with connect() as c:
        return c.execute(query, parameters, binary=binary, **options).fetchone()[0]


TABLE = """
create table {name} (
  id int primary key, small smallint, big bigint, r real, f double precision,
  n numeric(12,3), b boolean, t text, v varchar(20), c char(5), d date, ts timestamp,
  tz timestamptz, i interval, u uuid, y bytea, a int[], ta text[])
"""
ROW = (
    1, -32768, 2**62, 1.5, -0.1, D("123456789.125"), True, "häß \u2603 'q' \\", "v", "abc",
    dt.date(2024, 2, 29), dt.datetime(2001, 2, 3, 4, 5, 6, 789),
    dt.datetime(1999, 12, 31, 23, 59, 59, tzinfo=dt.timezone.utc),
    dt.timedelta(days=3, hours=4, seconds=5), uuid.UUID(int=0x12345678), b"\0\1\xff\\",
    [1, None, -3], ["a", None, 'x "y" {,}'])


def table(c, name):
    c.execute(f"drop table if exists {name}")
    c.execute(TABLE.format(name=name))


def round_trip(format_in, binary):
    with connect() as c:
        table(c, "types")
        marks = ", ".join([f"%{format_in}"] * len(ROW))
        c.execute(f"insert into types values ({marks})", ROW)
        found = c.execute("select * from types", binary=binary).fetchone()
        # PostgreSQL pads char(n) when it prints it; tests/sql/types/text.slt says that we do not.
        found = found[:9] + (found[9].rstrip(),) + found[10:]
        for column, (one, other) in enumerate(zip(found, ROW)):
            if one != other:
                raise AssertionError(f"column {column + 1}: found {one!r}, wanted {other!r}")
        nulls = (2,) + (None,) * (len(ROW) - 1)
        c.execute(f"insert into types values ({marks})", nulls)
        row = c.execute("select * from types where id = 2", binary=binary).fetchone()
        equal(row, nulls)
        c.execute("drop table types")


@check
def every_type_text_to_text():
    round_trip("t", False)


@check
def every_type_binary_to_binary():
    round_trip("b", True)


@check
def every_type_text_to_binary():
    round_trip("t", True)


@check
def every_type_binary_to_text():
    round_trip("b", False)


@check
def types_of_columns_are_told():
    with connect() as c:
        table(c, "oids")
        cursor = c.execute("select * from oids")
        equal(
            [x.type_code for x in cursor.description],
            [23, 21, 20, 700, 701, 1700, 16, 25, 1043, 1042, 1082, 1114, 1184, 1186, 2950, 17,
             1007, 1009])
        precision = cursor.description[5]
        equal((precision.precision, precision.scale), (12, 3))
        equal(cursor.description[8].internal_size, None)
        equal(cursor.description[8].display_size, 20)
        c.execute("drop table oids")


@check
def literals_and_infinities_in_binary():
    with connect() as c:
        row = c.execute(
            "select 'NaN'::float8, 'Infinity'::float8, '-infinity'::float4, 0.1::numeric(10,5),"
            " '1 mon -2 days'::interval, null::int, 5::smallint, ''::text", binary=True).fetchone()
        equal(str(row[0]), "nan")
        equal(row[1], float("inf"))
        equal(row[2], float("-inf"))
        equal(str(row[3]), "0.10000")
        equal(row[4], dt.timedelta(days=28))
        equal(row[5:], (None, 5, ""))


@check
def numbers_choose_their_parameter_types():
    with connect() as c:
        for number in (0, -1, 2**15, 2**31, 2**40, -(2**63)):
            equal(c.execute("select %s", (number,)).fetchone()[0], number)
            equal(c.execute("select %b", (number,), binary=True).fetchone()[0], number)
        equal(c.execute("select %s + 1", (41,)).fetchone()[0], 42)
        equal(c.execute("select %s::numeric(20,4)", (D("1.5"),)).fetchone()[0], D("1.5"))
        equal(c.execute("select pg_typeof(%s)::text", (1.5,)).fetchone()[0], "double precision")


@check
def untyped_strings_are_what_the_place_needs():
    with connect() as c:
        c.execute("drop table if exists places")
        c.execute("create table places (a int, d date, n numeric(8,2), b boolean, j text)")
        c.execute("insert into places values (%s, %s, %s, %s, %s)",
                  ("7", "2020-01-01", "1.25", "yes", "x"))
        row = c.execute("select * from places where a = %s and d = %s and n < %s",
                        ("7", "2020-01-01", "2")).fetchone()
        equal(row, (7, dt.date(2020, 1, 1), D("1.25"), True, "x"))
        equal(c.execute("select count(*) from places where a = any(%s)", ([5, 6, 7],)).fetchone(),
              (1,))
        equal(c.execute("select count(*) from places where j like %s || '%%'", ("x",)).fetchone(),
              (1,))
        equal(c.execute("select a from places order by a limit %s offset %s", (1, 0)).fetchone(),
              (7,))
        equal(c.execute("select coalesce(%s, 'd')", (None,)).fetchone(), ("d",))
        equal(c.execute("select d + %s from places", (1,)).fetchone(), (dt.date(2020, 1, 2),))
        equal(c.execute("select case when a > %s then %s else %s end from places",
                        (5, "big", "small")).fetchone(), ("big",))
        c.execute("drop table places")


@check
def a_wrong_literal_is_told_with_its_code():
    with connect() as c:
        raises("22P02", c.execute, "select %s::int", ("seven",))
        raises("22003", c.execute, "select 100000::smallint")
        raises("22012", c.execute, "select 1 / %s", (0,))
        raises("22007", c.execute, "select %s::date", ("yesterday-ish",))
        raises("42P01", c.execute, "select * from nowhere")
        raises("42703", c.execute, "select nothing from (select 1 as x) y")
        raises("42601", c.execute, "selekt 1")
        raises("42883", c.execute, "select no_such_function(1)")
        raises("42P02", c.execute, "select $1")
        equal(c.execute("select 1").fetchone(), (1,))


@check
def errors_name_their_constraint_and_place():
    with connect() as c:
        c.execute("drop table if exists child")
        c.execute("drop table if exists parent")
        c.execute("create table parent (id int primary key, x int not null check (x > 0))")
        c.execute("create table child (id int primary key,"
                  " p int constraint child_parent references parent (id))")
        c.execute("insert into parent values (1, 1)")
        error = raises("23505", c.execute, "insert into parent values (1, 1)")
        equal((error.diag.constraint_name, error.diag.table_name, error.diag.schema_name),
              ("parent_pkey", "parent", "public"))
        equal(error.diag.message_detail, "Key (id)=(1) already exists.")
        error = raises("23502", c.execute, "insert into parent values (2, null)")
        equal((error.diag.column_name, error.diag.table_name), ("x", "parent"))
        error = raises("23514", c.execute, "insert into parent values (2, -1)")
        equal(error.diag.constraint_name, "parent_x_check")
        error = raises("23503", c.execute, "insert into child values (1, 77)")
        equal((error.diag.constraint_name, error.diag.table_name), ("child_parent", "child"))
        error = raises("42703", c.execute, "select id, wrong from parent")
        equal(error.diag.statement_position, "12")
        equal(error.diag.severity, "ERROR")
        c.execute("drop table child")
        c.execute("drop table parent")


@check
def executemany_inserts_and_counts():
    with connect() as c:
        c.execute("drop table if exists many")
        c.execute("create table many (id int primary key, t text)")
        cursor = c.cursor()
        cursor.executemany("insert into many values (%s, %s)", [(i, f"r{i}") for i in range(200)])
        equal(cursor.rowcount, 200)
        cursor.executemany("insert into many values (%s, %s) returning id",
                           [(1000 + i, "x") for i in range(3)], returning=True)
        found = [cursor.fetchone()[0]]
        while cursor.nextset():
            found.append(cursor.fetchone()[0])
        equal(found, [1000, 1001, 1002])
        equal(c.execute("select count(*), min(id), max(t) from many").fetchone(), (203, 0, "x"))
        c.execute("drop table many")


@check
def statements_are_prepared_after_some_uses():
    with connect(prepare_threshold=1) as c:
        c.execute("drop table if exists prep")
        c.execute("create table prep (id int primary key, t text)")
        for i in range(20):
            c.execute("insert into prep values (%s, %s)", (i, str(i)), prepare=True)
        for i in range(20):
            equal(c.execute("select t from prep where id = %s", (i,)).fetchone(), (str(i),))
        names = c.execute("select count(*) > 0 from pg_prepared_statements").fetchone()
        equal(names, (True,))
        c.execute("drop table prep")
        # The statement is prepared, its table is gone.
        raises("42P01", c.execute, "select t from prep where id = %s", (1,))


@check
def a_prepared_query_follows_its_table():
    with connect(prepare_threshold=0) as c:
        c.execute("drop table if exists moving")
        c.execute("create table moving (id int primary key)")
        c.execute("insert into moving values (1)")
        query = "select id from moving where id = %s"
        equal(c.execute(query, (1,)).fetchone(), (1,))
        c.execute("drop table moving")
        c.execute("create table moving (x int, id int primary key)")
        c.execute("insert into moving values (5, 1)")
        equal(c.execute(query, (1,)).fetchone(), (1,))
        c.execute("drop table moving")


@check
def deallocate_all_forgets_statements():
    with connect(prepare_threshold=0) as c:
        c.execute("select 1")
        c.execute("deallocate all")
        equal(c.execute("select 1").fetchone(), (1,))
        c.execute("discard all")
        equal(c.execute("select 2").fetchone(), (2,))


@check
def a_pipeline_answers_in_order():
    with connect() as c:
        with c.pipeline():
            cursors = [c.execute("select %s::int * 2", (i,)) for i in range(300)]
        equal([x.fetchone()[0] for x in cursors], [i * 2 for i in range(300)])


@check
def a_pipeline_keeps_all_or_nothing():
    def three(c, second):
        with c.pipeline():
            for number in (10, second, 30):
                c.execute("insert into kept values (%s)", (number,))

    with connect() as c:
        c.execute("drop table if exists kept")
        c.execute("create table kept (id int primary key)")
        c.execute("insert into kept values (1)")
        raises("23505", three, c, 1)
        equal(c.execute("select count(*) from kept").fetchone(), (1,))
        three(c, 20)
        raises("22012", c.execute, "insert into kept values (40); select 1 / 0")
        equal(c.execute("select count(*) from kept").fetchone(), (4,))
        c.execute("drop table kept")


@check
def a_block_writes_with_savepoints():
    with connect(autocommit=False) as c, connect() as other:
        other.execute("drop table if exists noted")
        c.execute("create table noted (id int primary key, t text)")
        c.commit()
        c.cursor().executemany("insert into noted values (%s, 'x')", [(i,) for i in range(20)])
        with c.transaction():
            c.execute("update noted set t = 'y' where id < 10")
        try:
            with c.transaction():
                c.execute("delete from noted")
                c.execute("insert into noted values (1), (1)")
        except psycopg.errors.UniqueViolation:
            pass
        equal(other.execute("select count(*) from noted").fetchone(), (0,))
        c.commit()
        query = "select t, count(*) from noted group by t order by t"
        equal(other.execute(query).fetchall(), [("x", 10), ("y", 10)])
        c.execute("delete from noted")
        c.rollback()
        equal(other.execute(query).fetchall(), [("x", 10), ("y", 10)])
        other.execute("drop table noted")


@check
def an_error_in_a_pipeline_ends_its_part_only():
    def run(c):
        with c.pipeline() as pipeline:
            good = c.execute("select 1")
            pipeline.sync()
            c.execute("select 1 / 0")
            c.execute("select 2")
            pipeline.sync()
            equal(good.fetchone(), (1,))

    with connect() as c:
        raises("22012", run, c)
        equal(c.execute("select 3").fetchone(), (3,))


@check
def an_implicit_transaction_of_a_pipeline_reads():
    with connect(autocommit=False) as c:
        with c.pipeline():
            rows = [c.execute("select %s::int", (i,)) for i in range(5)]
        equal([x.fetchone() for x in rows], [(i,) for i in range(5)])
        c.rollback()


@check
def copy_in_as_text_csv_and_rows():
    with connect() as c:
        c.execute("drop table if exists copied")
        c.execute("create table copied (id int primary key, t text, n numeric(8,2))")
        with c.cursor().copy("copy copied from stdin") as copy:
            copy.write("1\tone\t1.5\n2\t\\N\t\\N\n")
            copy.write(b"3\ta\\tb\\\\\t-2.25\n")
        with c.cursor().copy("copy copied (id, t) from stdin (format csv, header)") as copy:
            copy.write('id,t\n4,"x,\ny"\n5,\n')
        with c.cursor().copy("copy copied (n, id) from stdin") as copy:
            copy.write_row((D("7.125"), 6))
            copy.write_row((None, 7))
        found = c.execute("select * from copied order by id").fetchall()
        equal(found, [(1, "one", D("1.50")), (2, None, None), (3, "a\tb\\", D("-2.25")),
                      (4, "x,\ny", None), (5, None, None), (6, None, D("7.13")), (7, None, None)])
        c.execute("drop table copied")


@check
def a_failed_copy_leaves_the_connection_usable():
    with connect() as c:
        c.execute("drop table if exists broken")
        c.execute("create table broken (id int primary key)")

        def load(text):
            with c.cursor().copy("copy broken from stdin") as copy:
                copy.write(text)

        error = raises("22P02", load, "1\n2\nthree\n")
        equal(error.diag.context, "COPY broken, line 3, column id: \"three\"")
        raises("22P04", load, "1\t2\n")
        raises("23505", load, "1\n1\n")
        try:
            with c.cursor().copy("copy broken from stdin") as copy:
                copy.write("9\n")
                raise ValueError("the client changes its mind")
        except ValueError:
            pass
        equal(c.execute("select count(*) from broken").fetchone(), (0,))
        c.execute("drop table broken")


def copy_out_or_skip(c, query):
    try:
        with c.cursor().copy(query) as copy:
            return b"".join(copy)
    except psycopg.errors.FeatureNotSupported as error:
        raise Skip(f"refused: {error.diag.message_primary}") from error


@check
def copy_out_as_text_and_csv():
    with connect() as c:
        query = "select * from (values (1, 'a\tb', null), (2, '', 'q\"')) v(x, y, z)"
        equal(copy_out_or_skip(c, f"copy ({query}) to stdout"), b"1\ta\\tb\t\\N\n2\t\tq\"\n")
        equal(copy_out_or_skip(c, f"copy ({query}) to stdout (format csv, header)"),
              b'x,y,z\n1,a\tb,\n2,"","q"""\n')


@check
def copy_out_in_binary():
    with connect() as c:
        copy_out_or_skip(c, "copy (select 1) to stdout (format binary)")
        with c.cursor().copy("copy (select 7, 'x'::text, null::date, 1.5::float8) to stdout"
                             " (format binary)") as copy:
            copy.set_types(["int4", "text", "date", "float8"])
            equal(list(copy.rows()), [(7, "x", None, 1.5)])


@check
def copy_in_in_binary():
    with connect() as c:
        c.execute("drop table if exists binary_in")
        c.execute("create table binary_in (id int primary key, t text, d date, n numeric(9,3))")
        try:
            with c.cursor().copy("copy binary_in from stdin (format binary)") as copy:
                copy.set_types(["int4", "text", "date", "numeric"])
                copy.write_row((1, "é", dt.date(1970, 1, 1), D("12.5")))
                copy.write_row((2, None, None, None))
        except psycopg.errors.FeatureNotSupported as error:
            raise Skip(f"refused: {error.diag.message_primary}") from error
        found = c.execute("select * from binary_in order by id").fetchall()
        equal(found, [(1, "é", dt.date(1970, 1, 1), D("12.500")), (2, None, None, None)])
        c.execute("drop table binary_in")


@check
def a_server_side_cursor_gives_rows_in_parts():
    with connect(autocommit=False) as c:
        try:
            with c.cursor(name="parts") as cursor:
                cursor.itersize = 7
                cursor.execute("select g from generate_series(1, 100) g")
                equal([x[0] for x in cursor], list(range(1, 101)))
                cursor.close()
        except psycopg.errors.FeatureNotSupported as error:
            raise Skip(f"refused: {error.diag.message_primary}") from error


@check
def a_server_side_cursor_scrolls():
    with connect(autocommit=False) as c:
        try:
            with c.cursor(name="scrolling", scrollable=True) as cursor:
                cursor.execute("select g from generate_series(1, 10) g")
                equal(cursor.fetchmany(3), [(1,), (2,), (3,)])
                cursor.scroll(-2)
                equal(cursor.fetchone(), (2,))
                cursor.scroll(9, mode="absolute")
                equal(cursor.fetchall(), [(10,)])
        except psycopg.errors.FeatureNotSupported as error:
            raise Skip(f"refused: {error.diag.message_primary}") from error


@check
def rows_stream_one_by_one():
    with connect() as c:
        total = 0
        for row in c.cursor().stream("select g from generate_series(1, 5000) g"):
            total += row[0]
        equal(total, 5000 * 5001 // 2)


@check
def a_long_result_arrives_whole():
    with connect() as c:
        rows = c.execute("select g, repeat('x', 100) from generate_series(1, 50000) g").fetchall()
        equal(len(rows), 50000)
        equal(rows[-1], (50000, "x" * 100))


LONG = ("select count(*) from generate_series(1, 3000) a, generate_series(1, 3000) b,"
        " generate_series(1, 3000) c where a + b + c < 0")


@check
def cancel_ends_a_query_and_nothing_else():
    with connect() as c:
        timer = threading.Timer(0.5, c.cancel)
        timer.start()
        begun = time.monotonic()
        raises("57014", c.execute, LONG)
        assert time.monotonic() - begun < 20
        timer.join()
        equal(c.execute("select 1").fetchone(), (1,))


@check
def cancel_safe_uses_the_modern_call():
    with connect() as c:
        timer = threading.Timer(0.5, c.cancel_safe)
        timer.start()
        raises("57014", c.execute, LONG)
        timer.join()
        equal(c.execute("select 1").fetchone(), (1,))


@check
def statement_timeout_by_set_and_by_option():
    with connect() as c:
        c.execute("set statement_timeout = 200")
        raises("57014", c.execute, LONG)
        c.execute("reset statement_timeout")
        equal(c.execute("show statement_timeout").fetchone(), ("0",))
    with connect(options="-c statement_timeout=200") as c:
        equal(c.execute("show statement_timeout").fetchone(), ("200ms",))
        raises("57014", c.execute, LONG)


@check
def another_session_can_cancel_and_terminate():
    with connect() as c, connect() as other:
        pid = c.info.backend_pid
        equal(c.execute("select pg_backend_pid()").fetchone(), (pid,))
        timer = threading.Timer(
            0.5, lambda: other.execute("select pg_cancel_backend(%s)", (pid,)))
        timer.start()
        raises("57014", c.execute, LONG)
        timer.join()
        other.execute("select pg_terminate_backend(%s)", (pid,))
        time.sleep(0.5)
        try:
            c.execute("select 1")
            raise AssertionError("the connection lives")
        except psycopg.OperationalError:
            pass


@check
def a_block_reads_and_fails_as_a_whole():
    with connect(autocommit=False) as c:
        equal(c.execute("select 1").fetchone(), (1,))
        equal(c.info.transaction_status.name, "INTRANS")
        raises("22012", c.execute, "select 1 / 0")
        equal(c.info.transaction_status.name, "INERROR")
        raises("25P02", c.execute, "select 1")
        c.rollback()
        equal(c.info.transaction_status.name, "IDLE")
        with c.transaction():
            equal(c.execute("select 2").fetchone(), (2,))
            try:
                with c.transaction():
                    c.execute("select 1 / 0")
            except psycopg.errors.DivisionByZero:
                pass
            equal(c.execute("select 3").fetchone(), (3,))
        equal(c.info.transaction_status.name, "IDLE")


@check
def isolation_and_read_only_are_settable():
    with connect(autocommit=False) as c:
        c.isolation_level = psycopg.IsolationLevel.READ_UNCOMMITTED
        c.read_only = True
        c.deferrable = True
        equal(c.execute("select 1").fetchone(), (1,))
        equal(c.execute("show transaction_isolation").fetchone(), ("read uncommitted",))
        equal(c.execute("show transaction_read_only").fetchone(), ("on",))
        c.rollback()
        c.read_only = None
        c.isolation_level = None
        c.deferrable = None
        equal(c.execute("show transaction_read_only").fetchone(), ("off",))
        c.rollback()


@check
def a_read_only_session_refuses_writes():
    with connect() as c:
        c.execute("set default_transaction_read_only = on")
        raises("25006", c.execute, "create table never (a int)")


@check
def notices_reach_their_handler():
    with connect() as c:
        notices = []
        c.add_notice_handler(lambda n: notices.append((n.severity, n.sqlstate, n.message_primary)))
        c.execute("drop table if exists surely_not_there")
        equal(notices,
              [("NOTICE", "00000", 'table "surely_not_there" does not exist, skipping')])
        notices.clear()
        c.execute("set client_min_messages = warning")
        c.execute("drop table if exists surely_not_there")
        equal(notices, [])
        c.execute("commit")
        equal(notices, [("WARNING", "25P01", "there is no transaction in progress")])


@check
def parameter_status_is_followed():
    with connect() as c:
        equal(c.info.parameter_status("standard_conforming_strings"), "on")
        equal(c.info.parameter_status("client_encoding"), "UTF8")
        equal(c.info.parameter_status("integer_datetimes"), "on")
        assert c.info.server_version >= 150000
        c.execute("set application_name = 'the name'")
        equal(c.info.parameter_status("application_name"), "the name")
        c.execute("reset application_name")
        equal(c.info.parameter_status("application_name"), "")


@check
def options_at_connecting():
    with connect(application_name="my app", options="-c search_path=public") as c:
        equal(c.execute("show application_name").fetchone(), ("my app",))
        equal(c.execute("show search_path").fetchone(), ("public",))
        found = c.execute("select application_name, state from pg_stat_activity"
                          " where pid = pg_backend_pid()").fetchone()
        equal(found, ("my app", "active"))
    error = raises("42704", lambda: value("set no_such_setting = 1"))
    assert "no_such_setting" in str(error)
    raises("22023", lambda: value("set statement_timeout = 'soon'"))


@check
def rows_as_dicts_tuples_and_classes():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    with connect() as c:
        cursor = c.cursor(row_factory=dict_row)
        equal(cursor.execute("select 1 as a, 'x' as \"B b\"").fetchone(), {"a": 1, "B b": "x"})
        cursor = c.cursor(row_factory=namedtuple_row)
        equal(cursor.execute("select 1 as a, 2 as b").fetchone().b, 2)
        cursor = c.cursor(row_factory=class_row(Pair))
        equal(cursor.execute("select 1 as a, 2 as b").fetchone().a, 1)


@check
def names_are_composed_and_quoted():
    with connect() as c:
        name = sql.Identifier('odd "Name" é')
        c.execute(sql.SQL("drop table if exists {}").format(name))
        c.execute(sql.SQL("create table {} ({} int)").format(name, sql.Identifier("Sel ect")))
        c.execute(sql.SQL("insert into {} values ({})").format(name, sql.Literal(3)))
        equal(c.execute(sql.SQL("select {} from {}").format(sql.Identifier("Sel ect"), name))
              .fetchone(), (3,))
        c.execute(sql.SQL("drop table {}").format(name))


@check
def several_statements_in_one_text():
    with connect() as c:
        cursor = c.execute("select 1; select 2, 3; select 4 where false")
        found = [cursor.fetchall()]
        while cursor.nextset():
            found.append(cursor.fetchall())
        equal(found, [[(1,)], [(2, 3)], []])
        raises("42601", c.execute, "select %s; select 2", (1,))
        equal(c.execute("").description, None)
        equal(c.execute(" ; ; ").description, None)
        equal(c.execute("-- only a comment").description, None)


@check
def a_writing_text_of_several_statements():
    with connect() as c:
        c.execute("drop table if exists several")
        c.execute("create table several (a int primary key); insert into several values (1), (2);"
                  " update several set a = a + 10; delete from several where a = 11")
        equal(c.execute("select a from several").fetchall(), [(12,)])
        c.execute("drop table several")


@check
def returning_and_row_counts():
    with connect() as c:
        c.execute("drop table if exists counted")
        c.execute("create table counted (id serial primary key, t text default 'd')")
        cursor = c.execute("insert into counted (t) values ('a'), ('b') returning id, t")
        equal((cursor.fetchall(), cursor.rowcount, cursor.statusmessage),
              ([(1, "a"), (2, "b")], 2, "INSERT 0 2"))
        equal(c.execute("insert into counted default values returning *").fetchone(), (3, "d"))
        equal(c.execute("update counted set t = 'z' where id > %s", (1,)).rowcount, 2)
        equal(c.execute("delete from counted where id = %s returning t", (2,)).fetchone(), ("z",))
        cursor = c.execute("insert into counted (id, t) values (1, 'n') on conflict (id)"
                           " do update set t = excluded.t || counted.t returning t")
        equal(cursor.fetchone(), ("na",))
        cursor = c.execute("insert into counted values (1, 'q') on conflict do nothing")
        equal((cursor.rowcount, cursor.statusmessage), (0, "INSERT 0 0"))
        equal(c.execute("select 1 where false").rowcount, 0)
        c.execute("drop table counted")


@check
def row_values_and_composites_arrive():
    with connect() as c:
        equal(c.execute("select array[]::int[]").fetchone(), ([],))
        equal(c.execute("select %s::int[]", ([],)).fetchone(), ([],))
        equal(c.execute("select %b::float8[]", ([1.5, None],), binary=True).fetchone(),
              ([1.5, None],))


@check
def dates_beyond_python_are_errors_of_python_only():
    with connect() as c:
        equal(c.execute("select '20000-01-01'::date::text").fetchone(), ("20000-01-01",))
        equal(c.execute("select '0044-03-15 BC'::date::text").fetchone(), ("0044-03-15 BC",))
        equal(c.execute("select %s::timestamptz", ("2020-06-01 12:00:00+02",)).fetchone()[0],
              dt.datetime(2020, 6, 1, 10, tzinfo=dt.timezone.utc))


@check
def a_null_byte_is_refused():
    with connect() as c:
        cursor = c.cursor()
        try:
            cursor.execute("select %s", ("a\0b",))
            raise AssertionError("accepted")
        except (psycopg.DataError, ValueError):
            pass
        equal(c.execute("select 1").fetchone(), (1,))


@check
def large_values_go_and_come():
    with connect() as c:
        c.execute("drop table if exists large")
        c.execute("create table large (id int primary key, t text, y bytea)")
        text, blob = "ü" * 1_000_000, bytes(range(256)) * 8_000
        c.execute("insert into large values (1, %s, %s)", (text, blob))
        equal(c.execute("select length(t), t = %s, length(y) from large", (text,)).fetchone(),
              (1_000_000, True, 2_048_000))
        equal(c.execute("select y from large", binary=True).fetchone(), (blob,))
        c.execute("drop table large")


@check
def many_parameters():
    with connect() as c:
        numbers = list(range(5_000))
        marks = ", ".join(["%s"] * len(numbers))
        equal(c.execute(f"select 4711 in ({marks})", numbers).fetchone(), (True,))
        values = ", ".join(["(%s::int, %s::text)"] * 500)
        flat = [x for i in range(500) for x in (i, f"t{i}")]
        equal(c.execute(f"select count(*), max(a) from (values {values}) v(a, b)", flat).fetchone(),
              (500, 499))


@check
def type_information_is_looked_up():
    from psycopg.types import TypeInfo
    with connect() as c:
        info = TypeInfo.fetch(c, "numeric")
        equal((info.oid, info.array_oid), (1700, 1231))
        equal(TypeInfo.fetch(c, "no_such_type"), None)


@check
def advisory_and_session_functions():
    with connect() as c:
        row = c.execute("select current_schema(), current_database() is not null,"
                        " current_user = session_user, inet_server_port() is null or true,"
                        " pg_is_in_recovery(), txid_current() is not null").fetchone()
        equal(row, ("public", True, True, True, False, True))


@check
def advisory_locks_are_waited_for():
    with connect() as other:
        with connect() as c:
            c.execute("select pg_advisory_lock(77)")
            equal(other.execute("select pg_try_advisory_lock(77)").fetchone(), (False,))
            other.execute("set statement_timeout = 300")
            raises("57014", other.execute, "select pg_advisory_lock(77)")
            other.execute("set statement_timeout = 0")
            timer = threading.Timer(0.5, lambda: c.execute("select pg_advisory_unlock(77)"))
            begun = time.monotonic()
            timer.start()
            other.execute("select pg_advisory_lock(77)")
            assert time.monotonic() - begun > 0.4
            timer.join()
            other.execute("select pg_advisory_unlock(77)")
            c.execute("select pg_advisory_lock(77)")
        # The lock ends with its session.
        other.execute("set statement_timeout = '10s'")
        other.execute("select pg_advisory_lock(77)")
    with connect(autocommit=False) as c, connect() as other:
        c.execute("select pg_advisory_xact_lock(1, 2)")
        equal(other.execute("select pg_try_advisory_xact_lock(1, 2)").fetchone(), (False,))
        c.rollback()
        equal(other.execute("select pg_try_advisory_xact_lock(1, 2)").fetchone(), (True,))
        equal(c.execute("select pg_try_advisory_xact_lock(1, 2)").fetchone(), (True,))


@check
def fifty_connections_at_once():
    connections = [connect() for _ in range(50)]
    try:
        found = []
        threads = [threading.Thread(
            target=lambda n=n, c=c: found.append(c.execute("select %s::int", (n,)).fetchone()[0]))
            for n, c in enumerate(connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(sorted(found), list(range(50)))
    finally:
        for c in connections:
            c.close()


@check
async def an_asynchronous_connection():
    async with await psycopg.AsyncConnection.connect("", autocommit=True) as c:
        cursor = await c.execute("select %s::text", ("x",))
        equal(await cursor.fetchone(), ("x",))


@check
def addresses_are_not_lost_silently():
    # inet is no type of the engine: it is refused by name, not read as text.
    with connect() as c:
        try:
            found = c.execute("select %s", (ipaddress.ip_address("10.0.0.1"),)).fetchone()[0]
            equal(str(found), "10.0.0.1")
        except psycopg.Error as error:
            assert error.sqlstate in ("0A000", "42704"), error


@check
def instants_are_the_same_in_every_zone():
    moments = [dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone.utc),
               dt.datetime(1900, 1, 1, tzinfo=dt.timezone.utc),
               dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.timezone.utc)]
    with connect() as c:
        for zone in ("Europe/Rome", "America/New_York", "Asia/Kolkata", "UTC"):
            c.execute(f"set timezone to '{zone}'")
            for format_in in ("s", "b", "t"):
                c.execute("drop table if exists instants")
                c.execute("create table instants (id int primary key, at timestamptz unique)")
                for number, moment in enumerate(moments):
                    c.execute(f"insert into instants values ({number}, %{format_in})", (moment,))
                    literal = f"timestamptz '{moment.isoformat()}'"
                    gap = c.execute(f"select (%{format_in} - {literal})::text", (moment,))
                    equal(gap.fetchone()[0], "00:00:00")
                    found = c.execute(f"select id from instants where at = {literal}").fetchone()
                    equal(found, (number,))
                    found = c.execute(f"select id from instants where at = %{format_in}", (moment,))
                    equal(found.fetchone(), (number,))
                    several = c.execute(
                        f"select id from instants where at = any(%{format_in})", ([moment],))
                    equal(several.fetchone(), (number,))
        c.execute("drop table instants")


@check
def instants_are_the_same_after_a_binary_copy():
    moment = dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone.utc)
    with connect() as c:
        c.execute("set timezone to 'Europe/Rome'")
        c.execute("drop table if exists instants")
        c.execute("create table instants (at timestamptz, several timestamptz[])")
        with c.cursor().copy("copy instants from stdin (format binary)") as copy:
            copy.set_types(["timestamptz", "timestamptz[]"])
            copy.write_row((moment, [moment, None]))
        found = c.execute("select at = timestamptz '2024-07-01 12:00+00', several from instants")
        equal(found.fetchone(), (True, [moment, None]))
        c.execute("drop table instants")


@check
def nulls_without_a_type_are_null_in_both_formats():
    queries = ["select null", "select null as x, 1", "select coalesce(null, null)",
               "select null union all select null", "select array[null]", "values (null)"]
    with connect() as c:
        for query in queries:
            rows = [c.cursor(binary=binary).execute(query).fetchall() for binary in (False, True)]
            equal(rows[0], rows[1])
        for binary in (False, True):
            equal(c.cursor(binary=binary).execute("select %s", (None,)).fetchall(), [(None,)])
            empty = c.cursor(binary=binary).execute("select '{}'::int[], array[null, 1]")
            equal(empty.fetchall(), [([], [None, 1])])


@check
def statements_that_cannot_be_planned_are_refused_when_prepared():
    refused = [("select * from nosuch where a = $1", "42P01"), ("select nosuch", "42703"),
               ("select nosuch($1)", "42883"), ("select $1 + $2", "42725"),
               ("select $1 is null", "42P18"), ("insert into nosuch values ($1)", "42P01")]
    with connect() as c:
        for query, state in refused:
            result = c.pgconn.prepare(b"", query.encode())
            equal(result.error_field(psycopg.pq.DiagnosticField.SQLSTATE).decode(), state)


if __name__ == "__main__":
    check.main()
