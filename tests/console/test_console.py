#!/usr/bin/env python3
"""The console as a visitor uses it: three modes, charts, results, export and replay.

    tests/console/test_console.py BINARY DATABASE [--shots FOLDER]

BINARY is `dovetail`, DATABASE a TPC-H database that it loaded. Without Chromium the test is
skipped, and says so loudly. `--shots` writes the pictures of the documentation.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import browser

# A laptop's screen less the browser's own bars.
WIDTH, HEIGHT = 1366, 768
COLUMN = "columns.find(c => c.mode.id === '%s')"
IDLE = "!busy && columns.every(c => !c.active())"
PAINTED = """(() => { const c = %s.parts['%s'], g = c.getContext('2d');
  const [r, gr, b] = rgb(colours['%s']), d = g.getImageData(0, 0, c.width, c.height).data;
  let n = 0;
  for (let i = 0; i < d.length; i += 4)
    if (Math.abs(d[i] - r) + Math.abs(d[i + 1] - gr) + Math.abs(d[i + 2] - b) < 40 && d[i + 3] > 50) n++;
  return n; })()"""


def serve(binary, data):
    """Starts a server; the process and the address of its console."""
    process = subprocess.Popen(
        [binary, "serve", "--data", data, "--memory", "180MB", "--listen", "127.0.0.1:0",
         "--http-listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "Console at " in line:
            return process, line.split("Console at ")[1].split()[0].rstrip(",")
    raise AssertionError("the server did not start")


class Test:
    def __init__(self, page, shots):
        self.page, self.shots = page, shots

    def shoot(self, name, **options):
        if self.shots:
            self.page.shoot(os.path.join(self.shots, name), **options)

    def check_columns(self, alone=True):
        """All three ran, their charts are filled, and their figures agree. Side by side they share
        the buffer pool, so that only the first to need a page reads it."""
        for mode in ["serial", "static", "ooo"]:
            column = COLUMN % mode
            state = self.page.run(f"{column}.state")
            assert state == "done", (mode, state, self.page.run(f"JSON.stringify({column}.problem)"))
            for chart in ["cpu", "io", "trace"] if alone or mode == "ooo" else ["cpu"]:
                painted = self.page.run(PAINTED % (column, chart, mode))
                assert painted > 5, f"the chart {chart} of {mode} is empty: {painted}"
            figures = self.page.run(f"({{requests: {column}.requests, dots: {column}.dots.t.length,"
                                    f" reads: {column}.reads.at(-1), tasks: {column}.tasks}})")
            assert figures["requests"] > (1000 if alone or mode == "ooo" else 0), figures
            assert figures["reads"] == figures["requests"], figures
            assert figures["dots"] == figures["requests"], figures
            created, running, waiting, done = figures["tasks"]
            assert created == done and running == waiting == 0, figures
        results = self.page.run("columns.map(c => JSON.stringify(c.end.result.rows))")
        assert results[0] == results[1] == results[2] != "[]", results

    def elapsed(self):
        return self.page.run("columns.map(c => c.end.elapsed_us)")

    def alone(self):
        self.page.run("runAll()|0")
        # Serial is under way: figures must come while it runs.
        self.page.wait("columns[0].active() && columns[0].reads.at(-1) > 500")
        assert self.page.run("columns[0].tasks[0]") > 0
        self.page.wait(IDLE, 120)
        time.sleep(0.3)
        self.check_columns()
        serial, _, ooo = self.elapsed()
        assert ooo < serial, (serial, ooo)
        assert "Out of order took" in self.page.run("$('verdict').textContent")
        assert self.page.run("$('final').rows.length") == 4
        self.shoot("console.png")

    def together(self):
        self.page.run("document.querySelector('input[value=together]').click()")
        self.page.run("runAll()|0")
        self.page.wait("columns[2].state === 'done' && columns[0].active()", 120)
        time.sleep(0.2)
        self.page.wait(IDLE, 120)
        time.sleep(0.3)
        self.check_columns(alone=False)

    def plan(self):
        self.page.run("tab = 'plan', shownMode = 'ooo', belowShown = '', drawTabs(), dirty = true")
        self.page.wait("document.querySelectorAll('.plan tr').length > 3")
        text = self.page.run("document.querySelector('.plan').textContent")
        assert "Scan" in text, text
        self.page.run("scrollTo(0, document.body.scrollHeight)")
        time.sleep(0.2)
        self.shoot("console-plan.png")
        self.page.run("scrollTo(0, 0), tab = 'result', belowShown = '', drawTabs(), dirty = true")

    def export_and_replay(self, folder):
        before = self.elapsed()
        self.page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=folder)
        self.page.run("exportRuns()")
        saved = pathlib.Path(folder, "dovetail-runs.json")
        until = time.monotonic() + 20
        while not saved.exists():
            assert time.monotonic() < until, "no file was saved"
            time.sleep(0.1)
        assert json.loads(saved.read_text())["format"] == "dovetail-console-runs"
        self.page.run("location.reload()")
        self.page.wait("typeof columns !== 'undefined' && $('sql').value !== ''")
        self.page.choose_file("#file", str(saved))
        self.page.wait("columns.every(c => c.active() && c.replaying)")
        self.page.wait("columns[2].state === 'done' && columns[0].active()", 60)
        time.sleep(0.2)
        self.shoot("console-replay.png")
        self.page.wait(IDLE, 120)
        time.sleep(0.3)
        self.check_columns()
        assert self.elapsed() == before

    def dark(self):
        self.page.run("theme('dark')")
        time.sleep(0.3)
        self.check_columns()
        self.shoot("console-dark.png")
        self.page.run("theme('light')")

    def cancel(self):
        # Long on any machine, and small enough on its right side for any memory.
        self.page.run("$('sql').value = 'select count(*) from lineitem a, "
                      "(select l_comment from lineitem limit 20000) b "
                      "where a.l_comment <> b.l_comment', runOne(columns[2])|0")
        self.page.wait("columns[2].active() && columns[2].run && columns[2].t.length > 1")
        self.page.run("stopAll()")
        self.page.wait(IDLE, 30)
        state = self.page.run("columns[2].state")
        assert state == "cancelled", state

    def errors(self):
        cases = [("selekt 1", "42601"), ("delete from region", "25006"), ("select 1; select 2", "0A000")]
        for text, state in cases:
            self.page.run(f"$('sql').value = {json.dumps(text)}, runOne(columns[0])|0")
            self.page.wait(IDLE + " && columns[0].problem !== null")
            problem = self.page.run("columns[0].problem")
            assert problem.get("state") == state, (text, problem)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("binary")
    arguments.add_argument("database")
    arguments.add_argument("--shots")
    options = arguments.parse_args()
    path = browser.find()
    if not path:
        print("SKIPPED: the console was NOT tested, there is no Chromium here (apt install chromium)",
              file=sys.stderr)
        return 77
    server, address = serve(options.binary, options.database)
    page = browser.Browser(path, WIDTH, HEIGHT)
    try:
        page.open(address)
        page.wait("$('sql').value !== ''")
        page.run("theme('light')")
        test = Test(page, options.shots)
        with tempfile.TemporaryDirectory() as folder:
            for step in [test.alone, test.plan, lambda: test.export_and_replay(folder), test.dark,
                         test.together, test.cancel]:
                step()
                assert not page.errors, page.errors
            # A refused statement is an answer with status 422, of which the browser complains.
            test.errors()
    finally:
        page.close()
        server.terminate()
        server.wait()
    print("the console works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
