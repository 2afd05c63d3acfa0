"""A server on a database file of its own, and counted checks, for the scripts of `tests/deploy`."""

import signal
import subprocess
import sys
import time

import wire


class Served:
    """A server of the binary; `flags` are more of its command line. Its log lies in the folder `log_in`."""

    def __init__(self, binary, data, *flags, log_in):
        self.log = log_in / "log"
        command = [binary, "serve", "--no-http", "--listen", "127.0.0.1:0", "--data", data, *flags]
        self.process = subprocess.Popen(command, stderr=open(self.log, "w"))
        while "Listening at 127.0.0.1:" not in (text := self.log.read_text()):
            if self.process.poll() is not None:
                sys.exit(f"the server did not start:\n{text}")
            time.sleep(0.05)
        self.port = int(text.split("Listening at 127.0.0.1:")[1].split()[0].rstrip(".,;"))

    def ask(self, text):
        """The rows, or what was refused; of a connection of its own, as memory settings are."""
        session = wire.Connection(self.port)
        try:
            return session.query(text)
        except wire.Refused as refused:
            return refused
        finally:
            session.close()

    def stop(self, number=signal.SIGTERM, patience_s=60):
        """Ends it by a signal; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(patience_s)


class Checks:
    """Counts what holds."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def check(self, what, holds, detail=""):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        print(f"{'ok      ' if holds else 'FAILED  '} {what}{'' if holds else f': {detail}'}", flush=True)
