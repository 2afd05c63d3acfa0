#!/usr/bin/env python3
"""Records the example that the console shows to who has not run anything yet.

    tests/console/example.py BINARY DATABASE FILE [--sample NUMBER]

BINARY is `dovetail`, DATABASE a TPC-H database that it loaded, FILE
`crates/server/src/http/console/page/example.json.gz`. A sample query runs cold in all three modes,
with a buffer pool for a tenth of the data, and the console saves the runs, as its button does. Of the
dots of the traces a part is kept at random, as of long runs; the page says which part.
"""

import argparse
import gzip
import json
import pathlib
import sys
import tempfile

import browser
from test_console import IDLE, export, serve

# Dots of one column that are kept; each costs some three bytes.
DOTS = 2000
RANK_ALL = 4294967295


def thin(run):
    """Keeps dots of small rank, which was drawn at random, and forgets the ranks."""
    ticks = [event["data"] for event in run if event["name"] == "tick"]
    count = sum(len(tick["points"]) // 4 for tick in ticks)
    if count <= DOTS:
        return
    limit = RANK_ALL * DOTS // count
    for tick in ticks:
        dots = [tick["points"][i:i + 4] for i in range(0, len(tick["points"]), 4)]
        tick["points"] = [part for t, page, pages, rank in dots if rank <= limit for part in (t, page, pages, 0)]
        tick["rank_limit"] = limit


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("binary")
    arguments.add_argument("database")
    arguments.add_argument("file", type=pathlib.Path)
    arguments.add_argument("--sample", type=int, default=1)
    options = arguments.parse_args()
    pool = max(pathlib.Path(options.database).stat().st_size // 10 >> 20, 16)
    memory = ("--memory", f"{2 * pool + 64}MB", "--pool", f"{pool}MB")
    server, address = serve(options.binary, options.database, memory)
    page = browser.Browser(browser.find(), 1366, 768)
    try:
        page.open(address)
        page.wait("$('sql').value !== ''")
        page.run(f"write($('samples').options[{options.sample}].value), runAll()|0")
        page.wait(IDLE + " && serial.end", 600)
        print(page.run("$('verdict').textContent"))
        with tempfile.TemporaryDirectory() as folder:
            saved = export(page, folder)
    finally:
        page.close()
        server.terminate()
        server.wait()
    for run in saved["runs"].values():
        thin(run)
        for event in run:
            event["at"] = round(event["at"])
    text = json.dumps(saved, separators=(",", ":")).encode()
    options.file.write_bytes(gzip.compress(text, 9, mtime=0))
    print(f"{options.file.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
