"""A list of checks, run one after another; each prints one line that run.sh counts.

`ok NAME`, `FAIL NAME: reason`, `skip NAME: reason`. A check that takes longer than LIMIT_SECONDS
has hung and fails. The address of the server comes from PGHOST, PGPORT, PGUSER and PGDATABASE.
"""

import asyncio
import os
import signal
import sys
import traceback

LIMIT_SECONDS = int(os.environ.get("CLIENTS_LIMIT_SECONDS", "60"))
HOST, PORT = os.environ["PGHOST"], int(os.environ["PGPORT"])
USER, DATABASE = os.environ["PGUSER"], os.environ["PGDATABASE"]


class Skip(Exception):
    """The check cannot run here; the reason is its message."""


def overdue(_signal, _frame):
    raise TimeoutError(f"no end within {LIMIT_SECONDS} s")


class Checks:
    def __init__(self, version):
        self.list = []
        self.version = version

    def __call__(self, function):
        self.list.append(function)
        return function

    def main(self):
        """Runs what is named on the command line, or everything."""
        print(f"version {self.version}", flush=True)
        wanted = sys.argv[1:]
        signal.signal(signal.SIGALRM, overdue)
        for function in self.list:
            if wanted and function.__name__ not in wanted:
                continue
            print(self.run(function), flush=True)

    def run(self, function):
        name = function.__name__
        signal.alarm(LIMIT_SECONDS)
        try:
            result = function()
            if asyncio.iscoroutine(result):
                asyncio.run(result)
            return f"ok {name}"
        except Skip as reason:
            return f"skip {name}: {reason}"
        except BaseException as error:  # whatever a client's library raises is a failure
            if os.environ.get("CLIENTS_TRACE"):
                traceback.print_exc()
            text = " ".join(f"{type(error).__name__}: {error}".split())
            place = traceback.extract_tb(error.__traceback__)
            lines = [f.lineno for f in place if f.filename.endswith(sys.argv[0].split("/")[-1])]
            return f"FAIL {name}: line {lines[-1] if lines else '?'}: {text[:300]}"
        finally:
            signal.alarm(0)


def equal(found, wanted):
    if found != wanted:
        raise AssertionError(f"found {found!r}, wanted {wanted!r}")


def raises(code, function, *arguments):
    """The call fails with this SQLSTATE; gives the error."""
    try:
        function(*arguments)
    except Exception as error:
        found = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        if found != code:
            raise AssertionError(f"SQLSTATE {found} ({error}), wanted {code}") from error
        return error
    raise AssertionError(f"no error, wanted {code}")
