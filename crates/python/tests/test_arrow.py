"""Arrow data, out and in, by the C interfaces."""

import datetime
import decimal

import dovetail
from support import WithDatabase, library

ROWS = """select g as i, case when g % 3 > 0 then 'text ' || g end as s, g / 7.0::double precision as f,
          (g * 1.25)::numeric(12, 2) as d, date '2024-01-01' + g as day, g % 2 = 0 as b
          from generate_series(1, {}) g"""


class Handmade:
    """Rows that only have the interface."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class HandmadeArray:
    def __init__(self, batch):
        self._batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


class WithoutLibraries(WithDatabase):
    def test_own_results_go_in_again(self):
        given = self.con.sql(ROWS.format(50000))  # noqa: F841 (the query reads it)
        self.con.sql("create table t as select * from given")
        self.assertEqual(self.rows("select count(*), count(s), sum(i) from t"), [(50000, 33334, 1250025000)])

    def test_taken_once(self):
        given = self.con.sql("select 1 as a")
        given.fetchone()
        self.assertRaises(dovetail.InterfaceError, given.__arrow_c_stream__)
        given = self.con.sql("select 1 as a")
        given.__arrow_c_stream__()
        self.assertRaises(dovetail.OperationalError, given.__arrow_c_stream__)
        self.assertRaises(dovetail.OperationalError, given.fetchone)

    def test_stream_that_nobody_reads(self):
        for _ in range(300):
            self.con.sql(ROWS.format(100000)).__arrow_c_stream__()
        self.assertEqual(self.rows("select 1"), [(1,)])

    def test_commands_have_no_result(self):
        self.assertIsNone(self.con.sql("create table t (a int)"))

    def test_shown(self):
        shown = repr(self.con.sql("select 1 as number, null as nothing"))
        self.assertIn("number | nothing", shown)
        self.assertIn("1      | NULL", shown)

    def test_registered(self):
        self.con.register("r", self.con.sql("select g from generate_series(1, 5) g"))
        for _ in range(2):
            self.assertEqual(self.rows("select sum(g), count(*) from r r1 join r r2 using (g)"), [(15, 5)])
        self.con.register("r", self.con.sql("select 'other' as x"))
        self.assertEqual(self.rows("select * from r"), [("other",)])
        other = self.connect()
        self.assertRaises(dovetail.ProgrammingError, other.execute, "select * from r")
        self.con.unregister("r")
        self.refused(dovetail.ProgrammingError, "42P01", "select * from r")
        self.assertRaises(dovetail.ProgrammingError, self.con.unregister, "r")

    def test_registered_rows_are_read_only(self):
        self.con.register("r", self.con.sql("select 1 as a"))
        self.con.execute("create table t (a int)")
        for statement in ("insert into r values (2)", "update r set a = 2", "delete from r", "drop table r",
                          "truncate r", "create index i on r (a)", "alter table r add column b int",
                          "create view v as select * from r", "select * from r for update", "lock table r",
                          "create table u (a int references r (a))", "copy r from stdin", "analyze r"):
            with self.subTest(statement):
                self.assertRaises(dovetail.Error, self.con.execute, statement)
                self.assertEqual(self.rows("select * from r"), [(1,)])

    def test_tables_come_first(self):
        self.con.execute("create table t (a int); insert into t values (1)")
        t = self.con.sql("select 2 as a")
        self.assertEqual(self.con.sql("select a from t").fetchall(), [(1,)])
        self.con.register("t", t)
        self.assertEqual(self.rows("select a from t"), [(1,)])
        self.con.execute("drop table t")
        self.assertEqual(self.rows("select a from t"), [(2,)])

    def test_no_table(self):
        number = 5  # noqa: F841
        with self.assertRaises(dovetail.ProgrammingError) as caught:
            self.con.sql("select * from number")
        self.assertEqual(caught.exception.sqlstate, "42P01")
        self.assertRaises(dovetail.ProgrammingError, self.con.register, "r", 5)


class PyArrow(WithDatabase):
    def setUp(self):
        self.pa = library("pyarrow")
        super().setUp()

    def test_out(self):
        table = self.pa.table(self.con.sql(ROWS.format(10000)))
        self.assertEqual(table.column_names, ["i", "s", "f", "d", "day", "b"])
        rows = self.rows(ROWS.format(10000))
        self.assertEqual([tuple(row.values()) for row in table.to_pylist()], rows)

    def test_batches_are_pulled(self):
        # More than any memory has: it would not end if rows were collected first.
        result = self.con.sql("select g, repeat('x', 100) as x from generate_series(1, 1000000000000) g")
        reader = self.pa.RecordBatchReader.from_stream(result)
        first = reader.read_next_batch()
        self.assertEqual(first.column(0)[0].as_py(), 1)
        del reader, result
        self.assertEqual(self.rows("select 1"), [(1,)])

    def test_error_within_a_stream(self):
        result = self.con.sql("select 1 / (g - 90000) as x from generate_series(1, 100000) g")
        with self.assertRaisesRegex(Exception, "division by zero"):
            self.pa.table(result)

    def test_all_types(self):
        query = """select 1::smallint a, 2::bigint b, 1.5::real c, 1.25::numeric d, 'x'::text e, '\\x00'::bytea f,
                   time '12:00' g, timestamp '2024-01-01 12:00' h, timestamptz '2024-01-01 12:00+00' i,
                   interval '1 day' j, '12345678-1234-5678-1234-567812345678'::uuid k, array[1, 2] l, true m"""
        (row,) = self.con.execute(query).fetchall()
        given = self.con.execute(query).fetch_arrow_table()
        found = list(given.to_pylist()[0].values())
        self.assertEqual(found[:9], list(row[:9]))
        self.assertEqual(found[10:], [row[10].bytes, row[11], row[12]])
        self.assertEqual((found[9].months, found[9].days), (0, 1))
        # And in again.
        again = self.con.sql("select a, b, c, d, e, f, g, h, i, j, l, m from given").fetchall()
        self.assertEqual(again, [row[:10] + row[11:]])

    def test_in(self):
        pa = self.pa
        given = pa.table({
            "tiny": pa.array([1, None], pa.int8()), "wide": pa.array([2**64 - 1, 0], pa.uint64()),
            "half": pa.array([1.5, None], pa.float32()),
            "text": pa.array(["a", None], pa.large_string()), "words": pa.array(["x", "x"]).dictionary_encode(),
            "ms": pa.array([0, 1], pa.timestamp("ms", tz="Europe/Berlin")), "days": pa.array([0, 1], pa.date64()),
            "span": pa.array([1, 2], pa.duration("s")), "list": pa.array([["a"], None], pa.large_list(pa.string())),
            "bin": pa.array([b"a", None]), "nothing": pa.nulls(2), "bool": pa.array([True, None]),
        })
        (first, second) = self.con.sql("select * from given").fetchall()
        self.assertEqual(first[:5], (1, 2**64 - 1, 1.5, "a", "x"))
        self.assertEqual(first[8:], (["a"], b"a", None, True))
        self.assertEqual(second[:5], (None, 0, None, None, "x"))
        self.assertEqual((first[5].year, first[6].year, first[7].total_seconds()), (1970, 1970, 1.0))

    def test_in_by_every_interface(self):
        table = self.pa.table({"a": list(range(10000))})
        batch = table.to_batches()[0]
        reader = table.to_reader()
        for given in (table, batch, reader, Handmade(table), HandmadeArray(batch)):
            with self.subTest(type(given)):
                self.assertEqual(self.con.sql("select count(*), sum(a) from given").fetchall(), [(10000, 49995000)])
        empty = table.slice(0, 0)  # noqa: F841
        self.assertEqual(self.con.sql("select count(*), sum(a) from empty").fetchall(), [(0, None)])
        array = self.pa.array([1, 2])  # noqa: F841
        self.assertRaises(dovetail.Error, self.con.sql, "select * from array")

    def test_texts_that_pyarrow_computes_on(self):
        self.con.execute("create table t (a int primary key, s text, b bytea, l text[])")
        self.con.execute("insert into t values (1, 'x', 'y', array['z']), (2, null, null, null)")
        self.assertEqual(self.pa.table(self.con.sql("select s from t")).schema.types, [self.pa.string_view()])
        table = self.con.sql("select s, b, l from t").fetch_arrow_table()
        self.assertEqual(table.schema.types, [self.pa.string(), self.pa.binary(), self.pa.list_(self.pa.string())])
        self.assertEqual(table.to_pylist(), [{"s": "x", "b": b"y", "l": ["z"]}, {"s": None, "b": None, "l": None}])

    def test_many_rows(self):
        given = self.pa.table({"a": list(range(300000)), "s": [f"row {n}" for n in range(300000)]})
        query = "select count(*), sum(a), max(s), count(distinct s) from given where a % 3 = 0"
        self.assertEqual(self.con.sql(query).fetchall(), [(100000, 14999850000, "row 99999", 100000)])
        given = given.slice(5, 299990)
        self.con.sql("create table t as select * from given")
        self.assertEqual(self.rows("select count(*), min(a), max(a) from t"), [(299990, 5, 299994)])
        self.assertEqual(self.con.sql("select count(*) from t join given using (a, s)").fetchall(), [(299990,)])

    def test_unknown_types(self):
        given = self.pa.table({"s": [{"x": 1}]})
        with self.assertRaises(dovetail.NotSupportedError) as caught:
            self.con.register("r", given)
        self.assertIn('column "s" of type struct', str(caught.exception))
        twice = self.pa.table([self.pa.array([1]), self.pa.array([2])], names=["a", "a"])
        with self.assertRaises(dovetail.ProgrammingError) as caught:
            self.con.register("r", twice)
        self.assertEqual(caught.exception.sqlstate, "42701")

    def test_names(self):
        Given = self.pa.table({"A": [1]})  # noqa: F841, N806
        self.assertEqual(self.con.sql('select "A" from Given').fetchall(), [(1,)])
        self.assertEqual(self.con.sql('select "A" from "Given"').fetchall(), [(1,)])
        self.assertEqual(self.con.sql('with given as (select 2 as b) select b from Given').fetchall(), [(2,)])
        self.assertRaises(dovetail.ProgrammingError, self.con.sql, "select * from public.given")
        self.assertEqual(self.con.sql('select (select max("A") from Given) + $1', (1,)).fetchall(), [(2,)])
        self.assertRaises(dovetail.ProgrammingError, self.con.execute, "select * from Given")

    def test_globals(self):
        variables = {"con": self.con, "everywhere": self.pa.table({"a": [7]})}
        exec("def ask(): return con.sql('select a from everywhere').fetchall()", variables)
        self.assertEqual(variables["ask"](), [(7,)])

    def test_within_a_transaction(self):
        con = self.connect()
        con.execute("create table t (a int)")
        given = self.pa.table({"a": [1, 2]})  # noqa: F841
        con.sql("insert into t select a from given")
        self.assertEqual(con.transaction_status, "open")
        con.commit()
        self.assertEqual(self.rows("select sum(a) from t"), [(3,)])


class Frames(WithDatabase):
    def test_pandas(self):
        pandas = library("pandas")
        library("pyarrow")
        df = pandas.DataFrame({"a": [1, 2, 3], "s": ["x", None, "z"]})  # noqa: F841
        out = self.con.sql("select a * 2 as b, s from df order by a").df()
        self.assertEqual(list(out["b"]), [2, 4, 6])
        self.assertEqual(out["s"][0], "x")
        self.assertTrue(pandas.isna(out["s"][1]))
        self.con.register("frame", df)
        self.assertEqual(self.con.execute("select sum(a) from frame").fetch_df().iloc[0, 0], 6)

    def test_polars(self):
        polars = library("polars")
        df = polars.DataFrame({"a": [1, 2, 3], "s": ["x", None, "a text that is longer than twelve bytes"]})
        out = self.con.sql("select a * 2 as b, s, a * 1.5 as f from df order by a").pl()
        self.assertEqual(out["b"].to_list(), [2, 4, 6])
        self.assertEqual(out["s"].to_list(), df["s"].to_list())
        lazy = df.lazy().filter(polars.col("a") > 1)  # noqa: F841
        self.assertEqual(self.con.sql("select count(*) from lazy").fetchall(), [(2,)])
        self.assertEqual(self.con.execute(ROWS.format(5000)).pl().height, 5000)

    def test_types_that_polars_has_not(self):
        library("polars")
        query = "select avg(g) as a, interval '1 day 2 seconds' * max(g) as i from generate_series(1, 2) g"
        frame = self.con.sql(query).pl()
        self.assertEqual(frame.rows(), [(decimal.Decimal("1.5"), datetime.timedelta(days=2, seconds=4))])
        for query in ("select avg(x) from (values (1e30::numeric), (2e30)) v (x)", "select interval '1 month' as a"):
            with self.assertRaisesRegex(BaseException, "cast it to text"):
                self.con.sql(query).pl()
