"""Values, there and back."""

import datetime
import decimal
import math
import uuid

import dovetail
from support import WithDatabase, library

D, UTC = decimal.Decimal, datetime.timezone.utc


class Values(WithDatabase):
    def test_there_and_back(self):
        moment = datetime.datetime(2024, 2, 29, 23, 59, 58, 123456)
        cases = [
            ("boolean", [True, False]),
            ("smallint", [-2**15, 2**15 - 1]),
            ("int", [-2**31, 0, 2**31 - 1]),
            ("bigint", [-2**63, 2**31, 2**63 - 1]),
            ("numeric", [2**70, -2**70]),
            ("numeric(20, 4)", [D("-1.2500"), D("9999999999999999.9999"), D("0.0000")]),
            ("numeric", [D("12345678901234567890123456789.123"), D("1E+5")]),
            ("double precision", [0.1, -1e300, 5e-324, math.inf, -math.inf, 1.0]),
            ("text", ["", "it's", 'a "b"', "ünï 日本 🕊", "back\\slash", "$1 ? -- /*"]),
            ("bytea", [b"", b"\x00\xff'\\", bytes(range(256))]),
            ("date", [datetime.date(1, 1, 1), datetime.date(2024, 2, 29), datetime.date(9999, 12, 31)]),
            ("time", [datetime.time(0, 0), datetime.time(23, 59, 59, 999999)]),
            ("timestamp", [moment, datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)]),
            ("timestamptz", [moment.replace(tzinfo=UTC)]),
            ("interval", [datetime.timedelta(0), datetime.timedelta(days=-3, seconds=5, microseconds=7),
                          datetime.timedelta(days=400, hours=23, microseconds=-1)]),
            ("uuid", [uuid.UUID("12345678-1234-5678-1234-567812345678")]),
            ("int[]", [[1, None, 3], []]),
            ("text[]", [["a", 'b"c', "d\\e", "NULL", "", None, "{,}"]]),
            ("numeric(10, 2)[]", [[D("1.50"), D("-2.25")]]),
            ("timestamptz[]", [[moment.replace(tzinfo=UTC)]]),
            ("boolean[]", [[True, False]]),
            ("bytea[]", [[b"\\x", b'"']]),
        ]
        for ty, values in cases:
            for value in values + [None]:
                with self.subTest(ty=ty, value=value):
                    self.con.execute(f"drop table if exists t; create table t (a {ty})")
                    self.con.execute("insert into t values (?)", (value,))
                    (back,), = self.rows("select a from t")
                    self.assertEqual(back, value)
                    if value is not None and not isinstance(value, int):
                        self.assertIs(type(back), type(value))

    def test_types_without_a_place(self):
        values = [True, 1, 2**40, 2**80, 1.5, D("1.50"), "text", b"bytes", datetime.date(2024, 1, 2), None,
                  datetime.timedelta(hours=-1), uuid.UUID(int=1), [1, 2**40], ["a"], [1.5, 2]]
        marks = ", ".join("?" * len(values))
        self.assertEqual(self.rows(f"select {marks}", values), [tuple(values)])

    def test_zones(self):
        zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
        moment = datetime.datetime(2024, 1, 1, 12, 0, tzinfo=zone)
        (back,), = self.rows("select ?::timestamptz", (moment,))
        self.assertEqual((back, back.utcoffset()), (moment, datetime.timedelta(0)))
        self.assertRaises(dovetail.ProgrammingError, self.rows, "select ?", (datetime.time(1, tzinfo=UTC),))

    def test_nan(self):
        (back,), = self.rows("select ?", (math.nan,))
        self.assertTrue(math.isnan(back))

    def test_other_columns(self):
        self.assertEqual(self.rows("select 1.5::real, 7::oid, 'x'::varchar(3), interval '1 month 2 days'"),
                         [(1.5, 7, "x", datetime.timedelta(days=32))])

    def test_out_of_pythons_range(self):
        for value in ("'10000-01-01'::date", "'10000-01-01 00:00'::timestamp", "'24:00'::time"):
            with self.subTest(value):
                self.refused(dovetail.DataError, "22008", f"select {value}")
        self.assertEqual(self.rows("select '10000-01-01'::date::text"), [("10000-01-01",)])

    def test_values_are_never_text(self):
        self.con.execute("create table t (a text)")
        evil = "'); drop table t; --"
        self.con.execute("insert into t values (?)", (evil,))
        self.assertEqual(self.rows("select a from t where a = ?", (evil,)), [(evil,)])
        self.assertEqual(self.rows("select a from t where a = $1 and a = $1", (evil,)), [(evil,)])

    def test_question_marks(self):
        self.assertEqual(self.rows("select '?', \"x?\", ? /* ? /* ? */ ? */ -- ?\n from (select 1 as \"x?\") s", (5,)),
                         [("?", 1, 5)])
        self.assertEqual(self.rows("select $$?$$, $a$ ? $$ $a$, e'\\'?', ?", (1,)), [("?", " ? $$ ", "'?", 1)])
        self.refused(dovetail.ProgrammingError, None, "select ?, $1", (1,))

    def test_wrong_parameters(self):
        self.refused(dovetail.ProgrammingError, "08P01", "select ?, ?", (1,))
        self.refused(dovetail.ProgrammingError, "08P01", "select ?", (1, 2))
        for parameters in ("abc", b"abc", {"a": 1}):
            self.assertRaises(dovetail.ProgrammingError, self.con.execute, "select ?", parameters)
        self.assertRaises(dovetail.ProgrammingError, self.con.execute, "select ?", (object(),))
        self.assertRaises(dovetail.ProgrammingError, self.con.execute, "select ?", ([1, "a"],))
        self.refused(dovetail.DataError, "22021", "select ?", ("a\0b",))

    def test_executemany_of_queries(self):
        with self.assertRaises(dovetail.NotSupportedError):
            self.con.executemany("select ?", [(1,)])
        self.assertEqual(self.rows("select 1"), [(1,)])

    def test_scalars_of_numpy(self):
        library("pandas")
        numpy = library("numpy")
        values = (numpy.int64(5), numpy.float32(1.5), numpy.bool_(True), numpy.str_("a"))
        self.assertEqual(self.rows("select ?, ?, ?, ?", values), [(5, 1.5, True, "a")])

    def test_look_up_by_key(self):
        self.con.execute("create table t (a int primary key, b text)")
        self.con.executemany("insert into t values (?, ?)", [(n, str(n)) for n in range(100)])
        for n in range(100):
            self.assertEqual(self.rows("select b from t where a = ?", (n,)), [(str(n),)])
        self.assertEqual(self.rows("select b from t where a = ?", (None,)), [])
