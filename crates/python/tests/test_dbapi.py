"""DB-API 2.0 (PEP 249)."""

import unittest

import dovetail
from support import WithDatabase


class Module(unittest.TestCase):
    def test_globals(self):
        self.assertEqual((dovetail.apilevel, dovetail.threadsafety, dovetail.paramstyle), ("2.0", 1, "qmark"))

    def test_exceptions(self):
        tree = {
            dovetail.Warning: Exception, dovetail.Error: Exception, dovetail.InterfaceError: dovetail.Error,
            dovetail.DatabaseError: dovetail.Error, dovetail.DataError: dovetail.DatabaseError,
            dovetail.OperationalError: dovetail.DatabaseError, dovetail.IntegrityError: dovetail.DatabaseError,
            dovetail.InternalError: dovetail.DatabaseError, dovetail.ProgrammingError: dovetail.DatabaseError,
            dovetail.NotSupportedError: dovetail.DatabaseError,
        }
        for kind, base in tree.items():
            self.assertTrue(issubclass(kind, base))
            self.assertIs(getattr(dovetail.Connection, kind.__name__), kind)

    def test_constructors(self):
        self.assertEqual(dovetail.Date(2024, 2, 29).isoformat(), "2024-02-29")
        self.assertEqual(dovetail.Binary(b"a"), b"a")
        self.assertEqual(dovetail.TimestampFromTicks(0).date(), dovetail.DateFromTicks(0))
        self.assertEqual(dovetail.TimestampFromTicks(61).time(), dovetail.TimeFromTicks(61))


class Cursors(WithDatabase):
    def setUp(self):
        super().setUp()
        self.con.execute("create table t (a int primary key, b text)")
        self.con.executemany("insert into t values (?, ?)", [(n, f"row {n}") for n in range(10)])

    def test_description(self):
        cur = self.con.execute("select a, b, 1.5::numeric(8, 2) as c, now() as d, '\\x00'::bytea as e from t")
        names, codes = [column[0] for column in cur.description], [column[1] for column in cur.description]
        self.assertEqual(names, ["a", "b", "c", "d", "e"])
        kinds = [dovetail.NUMBER, dovetail.STRING, dovetail.NUMBER, dovetail.DATETIME, dovetail.BINARY]
        self.assertEqual(codes, kinds)
        self.assertEqual(cur.description[0][3], 4)
        self.assertEqual(cur.description[2][4:6], (8, 2))
        self.assertTrue(all(len(column) == 7 for column in cur.description))
        self.assertIsNone(self.con.execute("delete from t where a < 0").description)

    def test_rowcount(self):
        self.assertEqual(self.con.cursor().rowcount, -1)
        self.assertEqual(self.con.execute("update t set b = 'x' where a < 4").rowcount, 4)
        self.assertEqual(self.con.execute("insert into t values (10, 'x') returning a").rowcount, 1)
        cur = self.con.execute("select * from t")
        cur.fetchall()
        self.assertEqual(cur.rowcount, 11)
        self.assertEqual(self.con.executemany("delete from t where a = ?", [(1,), (2,), (99,)]).rowcount, 2)

    def test_fetching(self):
        cur = self.con.execute("select a from t order by a")
        self.assertEqual(cur.fetchone(), (0,))
        self.assertEqual(cur.rownumber, 1)
        self.assertEqual(cur.fetchmany(), [(1,)])
        cur.arraysize = 3
        self.assertEqual(cur.fetchmany(), [(2,), (3,), (4,)])
        self.assertEqual(cur.fetchmany(2), [(5,), (6,)])
        self.assertEqual(next(cur), (7,))
        self.assertEqual(list(cur), [(8,), (9,)])
        self.assertEqual((cur.fetchone(), cur.fetchmany(5), cur.fetchall()), (None, [], []))

    def test_without_rows(self):
        cur = self.con.cursor()
        for fetch in (cur.fetchone, cur.fetchmany, cur.fetchall):
            self.assertRaises(dovetail.ProgrammingError, fetch)
        cur.execute("select a from t where a < 0")
        self.assertEqual((cur.fetchall(), cur.rowcount), ([], 0))

    def test_several_results_at_once(self):
        one = self.con.execute("select g from generate_series(1, 30000) g")
        other = self.con.execute("select g from generate_series(1, 30000) g")
        pairs = [(one.fetchone()[0], other.fetchone()[0]) for _ in range(20000)]
        self.assertEqual(pairs[-1], (20000, 20000))
        self.con.execute("insert into t values (100, 'between')")
        self.assertEqual(len(one.fetchall()) + len(other.fetchall()), 20000)

    def test_too_many_results(self):
        query = "select g from generate_series(1, 30000) g"
        open_ones = [self.con.execute(query) for _ in range(256)]
        self.refused(dovetail.OperationalError, "53000", query)
        open_ones.pop().close()
        self.assertEqual(len(self.rows(query)), 30000)

    def test_dropped_results_end(self):
        for _ in range(600):
            self.con.execute("select g from generate_series(1, 30000) g").fetchone()
        self.assertEqual(self.rows("select 1"), [(1,)])

    def test_several_statements(self):
        cur = self.con.execute("delete from t where a = 1; select count(*) from t; select 'last'")
        self.assertEqual(cur.fetchall(), [("last",)])
        self.refused(dovetail.ProgrammingError, "42601", "select ?; select 2", (1,))
        self.assertEqual(self.con.execute("").description, None)

    def test_closed(self):
        cur = self.con.cursor()
        cur.close()
        self.assertRaises(dovetail.InterfaceError, cur.execute, "select 1")
        self.con.close()
        self.con.close()
        for use in (self.con.cursor, self.con.commit, self.con.rollback, lambda: self.con.sql("select 1")):
            self.assertRaises(dovetail.InterfaceError, use)

    def test_result_outlives_nothing(self):
        cur = self.con.execute("select g from generate_series(1, 100000) g")
        cur.fetchone()
        self.con.close()
        self.assertRaises(dovetail.InterfaceError, cur.fetchall)


class Errors(WithDatabase):
    def test_classes(self):
        self.con.execute("create table t (a int primary key check (a > 0), b text not null)")
        self.con.execute("insert into t values (1, 'one')")
        cases = [
            (dovetail.ProgrammingError, "42P01", "select * from nobody"),
            (dovetail.ProgrammingError, "42601", "selct 1"),
            (dovetail.ProgrammingError, "42703", "select c from t"),
            (dovetail.IntegrityError, "23505", "insert into t values (1, 'again')"),
            (dovetail.IntegrityError, "23502", "insert into t values (2, null)"),
            (dovetail.IntegrityError, "23514", "insert into t values (-1, 'less')"),
            (dovetail.DataError, "22012", "select 1 / (a - 1) from t"),
            (dovetail.DataError, "22P02", "select 'x'::int"),
            (dovetail.DataError, "22003", "select 2147483647 + a from t"),
        ]
        for kind, sqlstate, statement in cases:
            with self.subTest(statement):
                self.refused(kind, sqlstate, statement)

    def test_details(self):
        self.con.execute("create table t (a int constraint positive check (a > 0))")
        error = self.refused(dovetail.IntegrityError, "23514", "insert into t values (-1)")
        self.assertEqual((error.table_name, error.constraint_name), ("t", "positive"))
        self.assertIn("Failing row contains (-1)", error.detail)
        self.assertIn("DETAIL:", str(error))
        error = self.refused(dovetail.ProgrammingError, "42703", "select  b from t")
        self.assertEqual(error.position, 9)

    def test_error_while_rows_are_fetched(self):
        cur = self.con.execute("select 1 / (g - 90000) from generate_series(1, 100000) g")
        with self.assertRaises(dovetail.DataError):
            cur.fetchall()
        # Not as if it had ended.
        self.assertRaises(dovetail.OperationalError, cur.fetchall)
        self.assertEqual(self.rows("select 1"), [(1,)])


class Transactions(WithDatabase):
    autocommit = False

    def setUp(self):
        super().setUp()
        self.con.execute("create table t (a int primary key)")
        self.con.commit()

    def count(self):
        with self.connect() as other:
            return other.execute("select count(*) from t").fetchone()[0]

    def test_begin_by_themselves(self):
        self.con.execute("insert into t values (1)")
        self.assertEqual((self.con.transaction_status, self.count()), ("open", 0))
        self.con.commit()
        self.assertEqual((self.con.transaction_status, self.count()), ("idle", 1))
        self.con.execute("insert into t values (2)")
        self.con.rollback()
        self.assertEqual(self.count(), 1)
        self.con.commit()
        self.con.rollback()

    def test_close_undoes(self):
        self.con.execute("insert into t values (1)")
        self.con.close()
        self.con = self.connect()
        self.assertEqual(self.rows("select * from t"), [])

    def test_context_manager(self):
        with self.connect() as con:
            con.execute("insert into t values (1)")
        self.assertTrue(con.closed)
        with self.assertRaises(KeyError), self.connect() as con:
            con.execute("insert into t values (2)")
            raise KeyError
        self.assertEqual(self.count(), 1)

    def test_failed(self):
        self.con.execute("insert into t values (1)")
        self.refused(dovetail.DataError, "22012", "select 1 / 0")
        self.assertEqual(self.con.transaction_status, "failed")
        self.refused(dovetail.InternalError, "25P02", "select 1")
        with self.assertRaises(dovetail.InternalError) as caught:
            self.con.commit()
        self.assertEqual(caught.exception.sqlstate, "25P02")
        self.assertEqual((self.con.transaction_status, self.count()), ("idle", 0))

    def test_first_statement_failed(self):
        self.refused(dovetail.DataError, "22012", "select 1 / 0")
        self.assertEqual(self.con.transaction_status, "idle")
        cur = self.con.execute("select 1 / (g - 90000) from generate_series(1, 100000) g")
        self.assertRaises(dovetail.DataError, cur.fetchall)
        self.assertEqual(self.con.transaction_status, "idle")
        self.assertRaises(dovetail.IntegrityError, self.con.executemany, "insert into t values (?)", [(1,), (1,)])
        self.assertEqual((self.con.transaction_status, self.count()), ("idle", 0))

    def test_own_begin(self):
        self.con.execute("begin isolation level serializable")
        self.con.execute("insert into t values (1)")
        self.con.execute("commit")
        self.assertEqual(self.count(), 1)

    def test_autocommit(self):
        self.con.autocommit = True
        self.con.execute("insert into t values (1)")
        self.assertEqual((self.con.transaction_status, self.count()), ("idle", 1))
        self.con.execute("begin")
        with self.assertRaises(dovetail.ProgrammingError):
            self.con.autocommit = False
        self.con.execute("insert into t values (2)")
        self.con.rollback()
        self.assertEqual(self.count(), 1)

    def test_executemany_is_one_transaction(self):
        for autocommit in (False, True):
            self.con.autocommit = autocommit
            rows = ((n % 25000,) for n in range(25001))
            with self.assertRaises(dovetail.IntegrityError):
                self.con.executemany("insert into t values (?)", rows)
            self.con.rollback()
            self.assertEqual(self.count(), 0)
        self.con.executemany("insert into t values (?)", ((n,) for n in range(25000)))
        self.assertEqual(self.count(), 25000)

    def test_results_and_ends(self):
        query = "select g from generate_series(1, 100000) g"
        kept, lost = self.con.execute(query), None
        kept.fetchone()
        self.con.commit()
        self.assertEqual(len(kept.fetchall()), 99999)
        lost = self.con.execute(query)
        lost.fetchone()
        self.con.rollback()
        with self.assertRaises(dovetail.OperationalError) as caught:
            lost.fetchall()
        self.assertEqual(caught.exception.sqlstate, "55000")


if __name__ == "__main__":
    unittest.main()
