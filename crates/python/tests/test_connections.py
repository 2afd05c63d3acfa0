"""Opening, sharing and closing databases."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import dovetail
from support import WithDatabase


class Connections(WithDatabase):
    def test_shared(self):
        self.con.execute("create table t (a int)")
        link = self.path.with_name("link")
        link.symlink_to(self.path)
        relative = os.path.relpath(self.path)
        for path in (self.path, str(self.path), link, relative):
            with dovetail.connect(path) as other:
                other.execute("insert into t values (1)")
        self.assertEqual(self.rows("select count(*) from t"), [(4,)])

    def test_closed_and_opened_again(self):
        self.con.execute("create table t (a int); insert into t values (1)")
        for _ in range(3):
            self.con.close()
            self.con = self.connect(autocommit=True)
            self.assertEqual(self.rows("select * from t"), [(1,)])

    def test_dropped(self):
        other = dovetail.connect(self.path)
        cur = other.execute("select g from generate_series(1, 100000) g")
        cur.fetchone()
        del other, cur
        self.con.close()
        # Nobody else holds it: another process may open it.
        code = f"import dovetail; print(dovetail.connect({str(self.path)!r}).execute('select 42').fetchone()[0])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("42\n", ""))

    def test_of_another_process(self):
        code = f"import dovetail; dovetail.connect({str(self.path)!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertIn("OperationalError", done.stderr)

    def test_left_open_at_the_end(self):
        path = self.path.with_name("left.dovetail")
        code = f"""if True:
            import dovetail
            con = dovetail.connect({str(path)!r}, autocommit=True)
            con.execute("create table t (a int); insert into t values (1)")
            cur = con.execute("select g from generate_series(1, 100000) g")
            cur.fetchone()
            temporary = dovetail.connect()
            temporary.execute("create table t (a int)")"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        with dovetail.connect(path) as con:
            self.assertEqual(con.execute("select * from t").fetchall(), [(1,)])

    def test_options(self):
        path = self.path.with_name("options.dovetail")
        with dovetail.connect(path, memory="128MB", workers=1) as con:
            with dovetail.connect(path, memory=128 * 2**20, workers=1):
                pass
            with self.assertRaises(dovetail.OperationalError) as caught:
                dovetail.connect(path, workers=2)
            self.assertEqual(caught.exception.sqlstate, "55000")
            self.assertEqual(con.execute("select 1").fetchall(), [(1,)])
        self.assertRaises(dovetail.ProgrammingError, dovetail.connect, path, memory="much")
        self.assertRaises(dovetail.Error, dovetail.connect, path, memory=5)

    def test_paths(self):
        self.assertRaises(dovetail.NotSupportedError, dovetail.connect, ":memory:")
        missing = self.path.parent / "missing" / "file"
        with self.assertRaises(dovetail.OperationalError) as caught:
            dovetail.connect(missing)
        self.assertEqual(caught.exception.sqlstate, "58P01")
        text = self.path.with_name("text")
        text.write_text("no database" * 1000)
        self.assertRaises(dovetail.Error, dovetail.connect, text)
        text.unlink()

    def test_temporary(self):
        folders = lambda: set(pathlib.Path(tempfile.gettempdir()).glob("dovetail-*"))  # noqa: E731
        before = folders()
        with dovetail.connect() as one, dovetail.connect() as other:
            one.execute("create table t (a int)")
            other.execute("create table t (b int)")
            self.assertEqual(len(folders() - before), 2)
        self.assertEqual(folders() - before, set())


if __name__ == "__main__":
    unittest.main()
