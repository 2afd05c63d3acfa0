"""Queries that end before their end, what is shown meanwhile, and what other threads do."""

import _thread
import contextlib
import io
import signal
import sys
import threading
import time
import unittest

import dovetail
from dovetail._progress import Bar
from support import WithDatabase, library

# It takes hours.
LONG = "select count(*) from generate_series(1, 10000000) a, generate_series(1, 10000000) b where (a * b) % 7 = 3"

# Time for what takes milliseconds; only a test that would fail waits for it.
PATIENCE_S = 60


def when_running(con, act):
    """Does something in a thread as soon as the next statement of a connection runs."""
    runs = threading.Event()
    con.progress = lambda *_: runs.set()

    def wait():
        if runs.wait(PATIENCE_S):
            act()
    thread = threading.Thread(target=wait)
    thread.start()
    return thread


class Interrupts(WithDatabase):
    def setUp(self):
        super().setUp()
        # As Python sets it, whoever started the tests.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def press(self, act=_thread.interrupt_main):
        # A progress callable that is called while the statement runs is the plainest sign that it does.
        pressed = []

        def show(elapsed_s, *_):
            if elapsed_s is not None and not pressed:
                pressed.append(act())
        self.con.progress = show

    def test_ctrl_c(self):
        self.press()
        self.assertRaises(KeyboardInterrupt, self.con.execute, LONG)
        self.assertEqual(self.rows("select 1"), [(1,)])

    def test_ctrl_c_by_signal(self):
        self.press(lambda: signal.raise_signal(signal.SIGINT))
        self.assertRaises(KeyboardInterrupt, self.con.execute, LONG)
        self.assertEqual(self.rows("select 1"), [(1,)])

    def test_ctrl_c_while_rows_are_fetched(self):
        self.con.execute("create table t (a bigint)")
        cur = self.con.execute(f"select 0 union all {LONG}")
        self.press()
        with self.assertRaises(KeyboardInterrupt):
            cur.fetchall()
        self.assertEqual(self.rows("select 1"), [(1,)])

    def test_ctrl_c_in_a_transaction(self):
        con = self.con = self.connect()
        con.execute("create table t (a int)")
        con.commit()
        self.press()
        self.assertRaises(KeyboardInterrupt, con.execute, LONG)
        self.assertEqual(con.transaction_status, "idle")
        con.execute("insert into t values (1)")
        self.press()
        self.assertRaises(KeyboardInterrupt, con.execute, LONG)
        self.assertEqual(con.transaction_status, "failed")
        con.rollback()
        self.assertEqual(self.rows("select * from t"), [])

    def test_ctrl_c_in_a_stream_of_others(self):
        pa = library("pyarrow")
        result = self.con.sql(f"select 0::bigint as x union all {LONG}")
        self.press()
        heard = False
        try:
            # pyarrow raises an error of its own, and Python hears of Ctrl-C as soon as it goes on.
            with contextlib.suppress(pa.ArrowException, OSError):
                pa.table(result)
            time.sleep(PATIENCE_S)
        except KeyboardInterrupt:
            heard = True
        self.assertTrue(heard)
        self.con.progress = False
        self.assertEqual(self.rows("select 1"), [(1,)])

    def test_interrupt_from_another_thread(self):
        thread = when_running(self.con, self.con.interrupt)
        with self.assertRaises(dovetail.OperationalError) as caught:
            self.con.execute(LONG)
        thread.join()
        self.assertEqual(caught.exception.sqlstate, "57014")
        self.assertEqual(self.rows("select 1"), [(1,)])


class Progress(WithDatabase):
    def test_called(self):
        calls = []

        def show(elapsed_s, parts_done, parts_known, rows):
            calls.append(elapsed_s)
            if len(calls) == 3:
                self.con.interrupt()
        self.con.progress = show
        self.assertRaises(dovetail.OperationalError, self.con.execute, LONG)
        self.assertEqual(calls[-1], None)
        self.assertEqual(calls[:3], sorted(calls[:3]))
        calls.clear()
        self.con.progress = False
        self.assertEqual(self.rows("select 1"), [(1,)])
        self.assertEqual(calls, [])

    def test_callables_cannot_use_the_connection(self):
        failures = []

        def show(*_):
            for use in (self.con.commit, self.con.close, lambda: self.con.execute("select 1")):
                try:
                    use()
                except dovetail.Error as error:
                    failures.append(error.sqlstate)
            self.con.interrupt()
        self.con.progress = show
        self.con.execute("begin")
        self.assertRaises(dovetail.OperationalError, self.con.execute, LONG)
        self.assertEqual(failures[:3], ["55006"] * 3)
        self.con.progress = False
        self.con.rollback()
        self.assertEqual(self.rows("select 1"), [(1,)])

    def test_line(self):
        stream = io.StringIO()
        bar = Bar(stream=stream)
        bar(1.9, 1, 2, 3)
        self.assertEqual(stream.getvalue(), "")
        bar(2.0, 1, 2, 3000)
        self.assertIn("1 of 2 known parts, 3,000 rows, 2 s", stream.getvalue())
        bar(None, 0, 0, 0)
        self.assertTrue(stream.getvalue().endswith(" \r"))

    def test_one_that_fails(self):
        told = []
        before = sys.unraisablehook
        self.addCleanup(setattr, sys, "unraisablehook", before)
        sys.unraisablehook = lambda failed: told.append(failed.exc_type)

        def show(*_):
            # The second call shows that the first one did not end the query.
            if told:
                self.con.interrupt()
            raise ZeroDivisionError
        self.con.progress = show
        self.assertRaises(dovetail.OperationalError, self.con.execute, LONG)
        self.assertEqual(set(told), {ZeroDivisionError})


class Threads(WithDatabase):
    def test_the_interpreter_is_free(self):
        # The other thread ends the statement: it could not if waiting kept the interpreter to itself.
        counts = []

        def count():
            counts.extend(range(1000))
            self.con.interrupt()
        thread = when_running(self.con, count)
        self.assertRaises(dovetail.OperationalError, self.con.execute, LONG)
        thread.join()
        self.assertEqual(len(counts), 1000)

    def test_connections_of_threads(self):
        self.con.execute("create table t (a int primary key, b int)")
        failures = []

        def work(number):
            try:
                with self.connect() as con:
                    for n in range(50):
                        con.execute("insert into t values (?, ?)", (number * 1000 + n, number))
                        con.commit()
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(self.rows("select count(*), count(distinct b) from t"), [(200, 4)])

    def test_one_connection_of_two_threads(self):
        # It is not meant to be, but neither breaks anything.
        found = []

        def work():
            found.extend(self.con.execute("select g from generate_series(1, 50) g").fetchone()[0] for _ in range(50))
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [1] * 100)


if __name__ == "__main__":
    unittest.main()
