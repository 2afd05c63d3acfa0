"""What the tests share: a database in a folder of its own, and libraries that may be missing."""

import importlib
import os
import pathlib
import tempfile
import unittest

import dovetail


class WithDatabase(unittest.TestCase):
    """Has a connection to a new database; each statement is a transaction of its own."""

    autocommit = True

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "test.dovetail"
        self.con = self.connect(autocommit=self.autocommit)

    def connect(self, **options):
        con = dovetail.connect(self.path, **options)
        self.addCleanup(con.close)
        return con

    def rows(self, query, parameters=None):
        return self.con.execute(query, parameters).fetchall()

    def refused(self, kind, sqlstate, *arguments):
        """A statement fails with this class and state; the exception."""
        with self.assertRaises(kind) as caught:
            self.con.execute(*arguments).fetchall()
        self.assertEqual(caught.exception.sqlstate, sqlstate, caught.exception)
        return caught.exception


def library(name):
    """A library, or a skip that says why it is not there."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        why = os.environ.get(f"WITHOUT_{name.upper()}", error)
        raise unittest.SkipTest(f"{name} cannot be had: {why}") from None
