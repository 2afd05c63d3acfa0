"""asyncpg: everything in binary format, prepared statements, its own introspection of types."""

import asyncio
import datetime as dt
import decimal
import uuid

import asyncpg

from checks import Checks, Skip, equal

check = Checks(asyncpg.__version__)


async def rejects(code, awaitable):
    try:
        await awaitable
    except asyncpg.PostgresError as error:
        equal(error.sqlstate, code)
        return error
    raise AssertionError(f"no error, wanted {code}")


@check
async def values_round_trip():
    c = await asyncpg.connect()
    await c.execute("drop table if exists ap")
    await c.execute("create table ap (id int primary key, s smallint, g bigint, r real, f float8,"
                    " n numeric(20,5), b boolean, t text, v varchar(9), d date, m time,"
                    " ts timestamp, tz timestamptz, i interval, u uuid, y bytea, a int[], ta text[],"
                    " na numeric(9,2)[])")
    row = (1, 2, 2**50, 1.5, 0.1, decimal.Decimal("-1234.50000"), True, "ü", "v",
           dt.date(1, 1, 1), dt.time(23, 59, 59, 999999), dt.datetime(9999, 12, 31, 1, 2, 3),
           dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), dt.timedelta(days=5, microseconds=7),
           uuid.uuid4(), b"\0\1", [1, None], ["x", None], [decimal.Decimal("1.50"), None])
    marks = ", ".join(f"${i + 1}" for i in range(len(row)))
    await c.execute(f"insert into ap values ({marks})", *row)
    found = tuple(await c.fetchrow("select * from ap where id = $1", 1))
    for number, (one, other) in enumerate(zip(found, row)):
        if one != other:
            raise AssertionError(f"column {number + 1}: found {one!r}, wanted {other!r}")
    await c.execute("drop table ap")
    await c.close()


@check
async def statements_tell_their_types():
    c = await asyncpg.connect()
    await c.execute("drop table if exists st")
    await c.execute("create table st (id int primary key, t text, n numeric(8,2), ts timestamptz)")
    s = await c.prepare("select t, n from st where id = $1 and ts > $2 and n between $3 and $4")
    equal([p.name for p in s.get_parameters()], ["int4", "timestamptz", "numeric", "numeric"])
    equal([(a.name, a.type.name) for a in s.get_attributes()], [("t", "text"), ("n", "numeric")])
    s = await c.prepare("insert into st values ($1, $2, $3, now()) returning id")
    equal([p.name for p in s.get_parameters()], ["int4", "text", "numeric"])
    equal(await s.fetchval(5, "x", decimal.Decimal(1)), 5)
    s = await c.prepare("update st set n = n * $1, t = $2 || t where id = any($3::int[])")
    equal([p.name for p in s.get_parameters()], ["numeric", "text", "int4[]"])
    await s.fetch(decimal.Decimal(3), "y", [5])
    equal(await c.fetchval("select t || n::text from st"), "yx3.00")
    await c.execute("drop table st")
    await c.close()


@check
async def many_at_once():
    c = await asyncpg.connect()
    await c.execute("drop table if exists mm")
    await c.execute("create table mm (id int primary key, t text)")
    await c.executemany("insert into mm values ($1, $2)", [(i, str(i)) for i in range(300)])
    equal(await c.fetchval("select count(*) from mm"), 300)
    await rejects("23505", c.executemany("insert into mm values ($1, $2)", [(900, ""), (1, "")]))
    equal(await c.fetchval("select count(*) from mm"), 300)

    def breaks():
        for number in range(1000, 3000):
            yield number, "x" * 100
        raise KeyError("no more")

    try:
        await c.executemany("insert into mm values ($1, $2)", breaks())
    except KeyError:
        pass
    equal(await c.fetchval("select count(*) from mm"), 300)
    await c.execute("drop table mm")
    await c.close()


@check
async def copy_records():
    c = await asyncpg.connect()
    await c.execute("drop table if exists cr")
    await c.execute("create table cr (id int primary key, t text, d date)")
    try:
        await c.copy_records_to_table("cr", records=[(1, "a", dt.date(2020, 1, 1)), (2, None, None)])
    except asyncpg.FeatureNotSupportedError as error:
        raise Skip(f"refused: {error}") from error
    finally:
        count = await c.fetchval("select count(*) from cr")
        await c.execute("drop table cr")
        await c.close()
    equal(count, 2)


@check
async def cursors_in_a_block():
    c = await asyncpg.connect()
    async with c.transaction(readonly=True):
        total = 0
        async for record in c.cursor("select g from generate_series(1, $1::int) g", 500):
            total += record["g"]
        equal(total, 500 * 501 // 2)
        cursor = await c.cursor("select g from generate_series(1, 10) g")
        equal([r[0] for r in await cursor.fetch(4)], [1, 2, 3, 4])
        await cursor.forward(3)
        equal((await cursor.fetchrow())[0], 8)
    await c.close()


@check
async def blocks_nest():
    c = await asyncpg.connect()
    async with c.transaction():
        try:
            async with c.transaction():
                await c.execute("select 1 / 0")
        except asyncpg.DivisionByZeroError:
            pass
        equal(await c.fetchval("select 7"), 7)
    await c.execute("drop table if exists nested")
    await c.execute("create table nested (id int primary key)")
    async with c.transaction():
        await c.execute("insert into nested values (1)")
        try:
            async with c.transaction():
                await c.execute("insert into nested values (2)")
                await c.execute("insert into nested values (1)")
        except asyncpg.UniqueViolationError:
            pass
        await c.execute("insert into nested values (3)")
    equal([r["id"] for r in await c.fetch("select id from nested order by id")], [1, 3])
    await c.execute("drop table nested")
    await c.close()


@check
async def timeouts_cancel():
    c = await asyncpg.connect()
    long = ("select count(*) from generate_series(1, 3000) a, generate_series(1, 3000) b,"
            " generate_series(1, 3000) c where a + b + c < 0")
    try:
        await c.execute(long, timeout=0.5)
        raise AssertionError("no timeout")
    except asyncio.TimeoutError:
        pass
    equal(await c.fetchval("select 1"), 1)
    await c.close()


@check
async def a_pool_of_connections():
    pool = await asyncpg.create_pool(min_size=4, max_size=8)
    found = await asyncio.gather(*(pool.fetchval("select $1::int", i) for i in range(200)))
    equal(sum(found), 199 * 100)
    async with pool.acquire() as c:
        # The pool resets its connections: that text must run.
        await c.execute("set application_name = 'x'")
    equal(await pool.fetchval("show application_name"), "")
    await pool.close()


@check
async def schema_changes_are_survived():
    c = await asyncpg.connect()
    await c.execute("drop table if exists sc")
    await c.execute("create table sc (id int primary key)")
    await c.execute("insert into sc values (1)")
    equal(len(await c.fetchrow("select * from sc")), 1)
    await c.execute("alter table sc add column t text")
    try:
        equal(len(await c.fetchrow("select * from sc")), 2)
    except asyncpg.InvalidCachedStatementError:
        equal(len(await c.fetchrow("select * from sc")), 2)
    await c.execute("drop table sc")
    await c.close()


@check
async def codecs_look_types_up():
    c = await asyncpg.connect()
    await c.set_type_codec("numeric", encoder=str, decoder=float, schema="pg_catalog", format="text")
    equal(await c.fetchval("select 1.25::numeric(5,2)"), 1.25)
    equal(await c.fetchval("select array[1.25::numeric(5,2), null]"), [1.25, None])
    await c.close()


@check
async def settings_of_the_server():
    c = await asyncpg.connect(server_settings={"application_name": "ap", "search_path": "public"})
    equal(await c.fetchval("show search_path"), "public")
    equal(c.get_settings().application_name, "ap")
    equal(c.get_server_version().major >= 15, True)
    await c.close()


@check
async def arguments_have_the_types_of_what_they_stand_beside():
    c = await asyncpg.connect()
    await c.execute("drop table if exists ty")
    await c.execute("create table ty (id int primary key, name text, m numeric(9,2), d date,"
                    " at timestamp)")
    await c.execute("insert into ty values (7, 'seven', 1.25, '2024-02-28', '2024-02-28 12:00')")
    day, long = dt.timedelta(days=1), dt.timedelta(days=2)
    cases = [
        ("select coalesce(id, $1) from ty", 3, 7),
        ("select id from ty where id = coalesce($1, id)", 7, 7),
        ("select left(name, $1) from ty", 2, "se"),
        ("select round(m, $1) from ty", 1, decimal.Decimal("1.3")),
        ("select mod(id, $1) from ty", 4, 3),
        ("select greatest(id, $1) from ty", 9, 9),
        ("select nullif(id, $1) from ty", 7, None),
        ("select array[id, $1] from ty", 8, [7, 8]),
        ("select sum(x) from generate_series(1, $1) x", 4, 10),
        ("select lag(id, $1) over (order by id) from ty", 1, None),
        ("select d + $1::int from ty", 1, dt.date(2024, 2, 29)),
        ("select at + $1 from ty", day, dt.datetime(2024, 2, 29, 12)),
        ("select interval '1 day' * $1", 2.0, long),
        ("select $1 * interval '1 day'", 2.0, long),
        ("select sqrt($1)", 9.0, 3.0),
        ("select 'yes' where $1", True, "yes"),
        ("select not $1", True, False),
        ("select max(x) from (select 1 union select $1) q(x)", 5, 5),
        ("select pg_sleep($1)", 0.0, None),
    ]
    for query, argument, wanted in cases:
        found = await c.fetchval(query, argument)
        if found != wanted:
            raise AssertionError(f"{query}: found {found!r}, wanted {wanted!r}")
    await c.execute("insert into ty (id) select $1", 8)
    equal(await c.fetchval("select count(*) from (values (1, 'a'), ($1, $2)) v", 2, "b"), 2)
    await c.execute("drop table ty")
    await c.close()


@check
async def nothing_comes_back_as_nothing():
    c = await asyncpg.connect()
    equal(await c.fetchval("select null"), None)
    equal(await c.fetchval("select $1", None), None)
    equal(await c.fetchval("select pg_sleep(0)"), None)
    await c.close()


@check
async def pages_of_rows_by_the_standard():
    c = await asyncpg.connect()
    series = "select x from generate_series(1, 9) x order by x"
    rows = await c.fetch(f"{series} offset $1 rows fetch next $2 rows only", 2, 3)
    equal([r[0] for r in rows], [3, 4, 5])
    rows = await c.fetch(f"{series} fetch first $1 rows only", 2)
    equal([r[0] for r in rows], [1, 2])
    await c.close()


if __name__ == "__main__":
    check.main()
