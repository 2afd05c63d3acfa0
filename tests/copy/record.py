#!/usr/bin/env python3
"""Records what PostgreSQL writes for the statements of cases.txt, never what this engine does.

    python3 tests/copy/record.py

Needs `psql` and a server (15) that the environment leads to, as a superuser of a scratch database:
the schema `public` is dropped before. `expected.txt` has for each statement a line with `>`, then a line
with `<` and the bytes (those that are no ASCII letters escaped), or one with `!`, the SQLSTATE, the
message, and detail and hint where there are some.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent
ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}


def psql(*arguments):
    command = ["psql", "-X", "-q", "-v", "VERBOSITY=verbose", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)


def escaped(data):
    """As Rust's `escape_ascii` puts it."""
    return "".join(
        ESCAPES.get(b) or (chr(b) if 0x20 <= b < 0x7F else f"\\x{b:02x}") for b in data
    )


def told(text):
    """SQLSTATE, message, detail and hint of an error."""
    parts = []
    for line in text.splitlines():
        for start in ("ERROR:  ", "DETAIL:  ", "HINT:  "):
            if line.startswith(start):
                parts.append(line.removeprefix(start))
    return " | ".join(parts)


def main():
    setup = (ROOT / "setup.sql").read_text()
    fresh = "drop schema public cascade; create schema public"
    made = psql("-v", "ON_ERROR_STOP=1", "-c", fresh, "-c", setup)
    if made.returncode:
        sys.exit(made.stderr.decode())
    lines = []
    for case in (ROOT / "cases.txt").read_text().splitlines():
        done = psql("-c", "set timezone = 'UTC'", "-c", case)
        lines.append(f"> {case}")
        error = told(done.stderr.decode())
        lines.append(f"! {error}" if error else f"< {escaped(done.stdout)}")
    (ROOT / "expected.txt").write_text("\n".join(lines) + "\n")


main()
