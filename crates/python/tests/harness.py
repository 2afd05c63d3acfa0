"""Runs the tests that lie beside it, and prints their counts as a test harness of Rust does."""

import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent


class Printing(unittest.TextTestResult):
    """A line for each test that did not pass."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.passed = 0

    def addSuccess(self, test):  # noqa: N802 (the name is the library's)
        super().addSuccess(test)
        self.passed += 1

    def addSkip(self, test, reason):  # noqa: N802
        super().addSkip(test, reason)
        print(f"SKIPPED  {test.id()}: {reason}", flush=True)


def main():
    sys.path.insert(0, str(HERE))
    loader = unittest.TestLoader()
    names = sys.argv[1:]
    suite = loader.loadTestsFromNames(names) if names else loader.discover(HERE, pattern="test_*.py")
    begun = time.monotonic()
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=0, resultclass=Printing)
    result = runner.run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    print(f"{result.passed} passed, {failed} failed, {skipped} skipped in {time.monotonic() - begun:.1f} s")
    word = "ok" if failed == 0 else "FAILED"
    print(f"test result: {word}. {result.passed} passed; {failed} failed; {skipped} ignored", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
