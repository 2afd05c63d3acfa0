#!/usr/bin/env python3
"""The console as a visitor uses it: the example, three modes, charts, results, export and replay.

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
# The page when it has drawn what it knows.
DRAWN = "new Promise(done => { dirty = true; setTimeout(() => requestAnimationFrame(done), 250); })"


def serve(binary, data, memory=("--memory", "180MB")):
    """Starts a server; the process and the address of its console."""
    process = subprocess.Popen(
        [binary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
         *memory], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "Console at " in line:
            return process, line.split("Console at ")[1].split()[0].rstrip(",")
    raise AssertionError("the server did not start")


def export(page, folder):
    """What the page saves, when its button is pressed."""
    page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.run("exportRuns()")
    saved = pathlib.Path(folder, "dovetail-runs.json")
    until = time.monotonic() + 60
    while True:
        try:
            return json.loads(saved.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            assert time.monotonic() < until, "no file was saved"
            time.sleep(0.1)


class Test:
    def __init__(self, page, folder, shots):
        self.page, self.folder, self.shots = page, folder, shots

    def shoot(self, name, **options):
        if self.shots:
            self.page.run(DRAWN)
            self.page.shoot(os.path.join(self.shots, name), **options)

    def text(self, place):
        self.page.run(DRAWN)
        return self.page.run(f"$('{place}').textContent")

    def resize(self, width, height):
        self.page.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                       deviceScaleFactor=1, mobile=False)
        self.page.run(DRAWN)

    def write_file(self, name, saved):
        path = pathlib.Path(self.folder, name)
        path.write_text(saved if isinstance(saved, str) else json.dumps(saved))
        self.page.choose_file("#file", str(path))

    def check_columns(self, alone=True):
        """All three ran, their charts are filled, and their figures agree. Side by side they share
        the buffer pool, so that only the first to need a page reads it."""
        self.page.run(DRAWN)
        for mode in ["serial", "static", "ooo"]:
            column = COLUMN % mode
            state = self.page.run(f"{column}.state")
            assert state == "done", (mode, state, self.page.run(f"JSON.stringify({column}.problem)"))
            for chart in ["cpu", "io", "trace"] if alone else ["cpu"]:
                painted = self.page.run(PAINTED % (column, chart, mode))
                assert painted > 5, f"the chart {chart} of {mode} is empty: {painted}"
            figures = self.page.run(f"({{requests: {column}.requests, dots: {column}.dots.t.length,"
                                    f" reads: {column}.reads.at(-1), tasks: {column}.tasks,"
                                    f" whole: {column}.limit === FULL_RANK}})")
            assert figures["requests"] > (100 if alone else 0), figures
            assert figures["reads"] == figures["requests"], figures
            if figures["whole"]:
                assert figures["dots"] == figures["requests"], figures
            created, running, waiting, done = figures["tasks"]
            assert created == done and running == waiting == 0, figures
        results = self.page.run("columns.map(c => JSON.stringify(c.end.result.rows))")
        assert results[0] == results[1] == results[2] != "[]", results

    def elapsed(self):
        return self.page.run("columns.map(c => c.end.elapsed_us)")

    def first_visit(self):
        """Before anything ran: one sentence, and a recorded run that says that it is one."""
        self.page.wait("shown && shown.example && columns.every(c => c.replaying || c.end)")
        assert "runs three times" in self.text("verdict")
        source = self.text("source")
        assert "a recording of" in source and "workers" in source, source
        self.page.wait(IDLE, 120)
        assert "Out of order took" in self.text("said")
        assert self.page.run("columns.every(c => c.state === 'done' && c.requests > 100)")
        assert self.page.run("$('facts').textContent.includes(info.database)")
        assert not self.page.run("$('runall').disabled")
        self.shoot("console-first.png")

    def alone(self):
        self.page.run("runAll()|0")
        # The fastest first: the others wait for their turn and show nothing of the example.
        self.page.wait("ooo.active() && shown === null")
        assert self.page.run("[serial.state, partitioned.state]") == ["queued", "queued"]
        self.page.wait("serial.active() && serial.reads.at(-1) > 50", 120)
        assert self.page.run("[ooo.state, partitioned.state]") == ["done", "done"]
        assert self.page.run("serial.tasks[0]") > 0
        # What is done of it is known, because another mode has done the same.
        self.page.wait("serial.share > 0 || !serial.active()")
        if self.page.run("serial.active()"):
            assert self.page.run("serial.share < 1 && !serial.parts.bar.classList.contains('unknown')")
        self.page.wait(IDLE, 120)
        self.check_columns()
        assert self.page.run("columns.every(c => c.parts.fill.style.width === '100%')")
        serial, _, ooo = self.elapsed()
        verdict = self.text("verdict")
        assert "Out of order took" in verdict and "serial" in verdict, verdict
        assert ("times faster" in verdict) == (serial >= 1.1 * ooo), (verdict, serial, ooo)
        assert self.page.run("$('final').rows.length") == 4
        self.shoot("console.png")

    def widths(self):
        """Three columns wherever they can be compared; nothing is cut; the room is used."""
        inside = ("document.documentElement.scrollWidth <= innerWidth && [...document.querySelectorAll("
                  "'header *, .column *, .headline *, .ask *')].filter(e => e.offsetParent && "
                  "e.tagName !== 'OPTION').every(e => e.getBoundingClientRect().right <= innerWidth + 1)")
        tops = "columns.map(c => c.root.getBoundingClientRect().top)"
        for width, height in [(1000, 700), (WIDTH, HEIGHT), (2560, 1440)]:
            self.resize(width, height)
            first, second, third = self.page.run(tops)
            assert first == second == third, (width, first, second, third)
            assert self.page.run(inside), f"something is cut at {width}"
            used = self.page.run("ooo.root.getBoundingClientRect().right - serial.root.getBoundingClientRect().left")
            assert used > 0.95 * width, (width, used)
            if width != WIDTH:
                self.shoot(f"console-{width}.png")
        assert self.page.run("parseFloat(getComputedStyle($('sql')).fontSize)") > 16
        self.resize(390, 844)
        assert self.page.run(inside), "something is cut at 390"
        assert self.page.run("$('final').scrollWidth <= $('final').parentElement.clientWidth")
        self.resize(WIDTH, HEIGHT)

    def below(self):
        self.page.run("show('plan', 'ooo')")
        self.page.wait("document.querySelectorAll('.plan tr').length > 3")
        text = self.page.run("document.querySelector('.plan').textContent")
        assert "Scan" in text and "; yes" not in text, text
        self.page.run("scrollTo(0, document.body.scrollHeight)")
        self.shoot("console-plan.png")
        self.page.run("show('tables'), scrollTo(0, 0)")
        self.page.wait("document.querySelector('.schema') !== null")
        right = self.page.run("Math.max(...[...document.querySelectorAll('.schema td')]"
                              ".map(e => e.getBoundingClientRect().right))")
        assert right <= WIDTH, f"the indexes are out of sight: {right}"
        self.page.run("show('result')")

    def export_and_replay(self):
        before = self.elapsed()
        self.page.run("replay()|0")
        self.page.wait("busy && columns.every(c => c.replaying || c.end)")
        self.page.wait("columns.some(c => c.state === 'done')", 60)
        self.shoot("console-replay.png")
        self.page.wait(IDLE, 120)
        assert self.elapsed() == before and self.text("source") == ""
        saved = export(self.page, self.folder)
        assert saved["format"] == "dovetail-console-runs"
        # As if it came from another machine, much larger than this one.
        saved["info"].update(workers=64, database="elsewhere", file_bytes=1000 << 30)
        self.page.run("location.reload()")
        self.page.wait("typeof columns !== 'undefined' && $('sql').value !== ''")
        facts = self.text("facts")
        self.write_file("other.json", saved)
        self.page.wait("busy && columns.every(c => c.replaying || c.end)")
        self.page.wait(IDLE, 120)
        self.check_columns()
        assert self.elapsed() == before
        # The recording is judged by its own machine, which the page names, and the server by its.
        assert "elsewhere" in self.text("source") and "64 workers" in self.text("source")
        assert "of 64 workers" in self.text("devicenote")
        assert self.text("facts") == facts and "elsewhere" not in facts, facts
        self.page.run("runOne(ooo)|0")
        self.page.wait("busy")
        self.page.wait(IDLE, 120)
        assert self.text("source") == "" and "64" not in self.text("devicenote")
        assert self.page.run("ooo.info().workers") == self.page.run("info.workers") != 64
        assert self.page.run("[serial.state, partitioned.state]") == ["idle", "idle"]

    def replay_can_be_stopped(self):
        saved = json.loads(pathlib.Path(self.folder, "dovetail-runs.json").read_text())
        # The last event is due in eleven days.
        saved["runs"]["serial"][-1]["at"] = 1e9
        self.write_file("late.json", saved)
        self.page.wait("busy && serial.replaying && ooo.state === 'done'", 120)
        assert self.page.run("!$('stopall').disabled")
        self.page.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
        self.page.wait(IDLE, 10)
        self.check_columns()
        saved["runs"]["serial"].pop()
        self.write_file("endless.json", saved)
        self.page.wait("serial.state === 'failed'", 120)
        assert "ends before the run does" in self.page.run("serial.problem.message")
        for damaged in ["{", "[]", {**saved, "runs": {"ooo": [{"at": 1, "name": "tick", "data": {}}]}},
                        {**saved, "runs": {}}, {**saved, "version": 2}]:
            self.page.run("say('')")
            self.write_file("damaged.json", damaged)
            self.page.wait("$('status').textContent.startsWith('Import: ')")
            assert self.page.run("!busy && $('status').className === 'error'")

    def dark(self):
        self.page.run("runAll()|0")
        self.page.wait(IDLE + " && serial.end", 120)
        self.page.run("theme('dark')")
        self.check_columns()
        self.shoot("console-dark.png")
        self.page.run("theme('light')")

    def together(self):
        self.page.run("document.querySelector('input[value=together]').click()")
        self.page.run("runAll()|0")
        self.page.wait("busy")
        self.page.wait(IDLE, 120)
        self.check_columns(alone=False)
        # What the modes shared is still said when all is over, and nothing is concluded.
        assert "share cores, device and buffer pool" in self.text("source")
        assert "faster" not in self.text("verdict") and "slower" not in self.text("verdict")
        assert self.page.run("columns.every(c => c.parts.speed.textContent === '')")
        self.page.run("document.querySelector('input[value=alone]').click()")

    def verdict_without_reads(self):
        """Where no read was waited for, none is the cause."""
        self.page.run("$('cold').checked = false, write('select count(*) from generate_series(1, 300000)')")
        self.page.run("runAll()|0")
        self.page.wait(IDLE + " && serial.end", 120)
        assert self.page.run("serial.read_count()") == 0
        verdict = self.text("verdict")
        assert "in flight" not in verdict and "o page had to be read" in verdict, verdict
        assert self.text("below").endswith("1 row."), self.text("below")
        assert self.page.run("document.querySelectorAll('.rows td.number').length") == 1
        self.page.run("$('cold').checked = true")

    def density(self):
        """Many dots show where there are most; a utilisation beyond the limit is explained."""
        self.page.run("""(() => {
          const c = ooo, n = 100000;
          c.dots = { t: [], page: [], rank: [] };
          for (let i = 0; i < n; i++) { c.dots.t.push(i * i % n * c.end.elapsed_us / n); c.dots.page.push(i * 7919 % 40000); c.dots.rank.push(0); }
          c.reads = c.t.map((_, i) => 1000 * i); c.wish.info = { ...info, device_reads_per_s: 1 };
          c.wish.info.file_bytes = 40000 * 4096;
        })()""")
        self.page.run(DRAWN)
        shades = self.page.run("""(() => { const c = ooo.parts.trace, d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
          const found = new Set(); for (let i = 3; i < d.length; i += 4) if (d[i]) found.add(d[i]); return found.size; })()""")
        assert shades > 4, f"{shades} shades"
        assert "*" in self.text("final") and "More than 100 %" in self.text("devicenote")
        assert self.page.run("[count(1, 'row'), count(2, 'row'), count(0, 'read')]") == ["1 row", "2 rows", "0 reads"]

    def samples(self):
        whole = "$('sql').scrollHeight <= $('sql').clientHeight + 2"
        for number in range(1, self.page.run("$('samples').options.length")):
            self.page.run(f"$('samples').selectedIndex = {number}, $('samples').onchange()")
            assert self.page.run(whole), f"sample {number} is cut"
        sample = self.page.run("$('sql').value")
        self.page.run("$('sql').value = 'select 1', $('sql').oninput()")
        # The menu says that this is no sample, so that choosing the sample is a change.
        assert self.page.run("$('samples').value") == ""
        self.page.run("$('samples').selectedIndex = $('samples').options.length - 1, $('samples').onchange()")
        assert self.page.run("$('sql').value") == sample

    def cancel(self):
        # Long on any machine, and small enough on its right side for any memory.
        self.page.run("write('select count(*) from lineitem a, "
                      "(select l_comment from lineitem limit 20000) b "
                      "where a.l_comment <> b.l_comment'), runOne(ooo)|0")
        self.page.wait("ooo.active() && ooo.run && ooo.t.length > 1")
        self.page.run("stopAll()")
        self.page.wait(IDLE, 60)
        self.page.run(DRAWN)
        assert self.page.run("ooo.state") == "cancelled"
        width = self.page.run("ooo.parts.fill.getBoundingClientRect().width / ooo.parts.bar.clientWidth")
        assert width < 1, "the bar of a cancelled run is full"

    def errors(self):
        cases = [("selekt 1", "42601", ""), ("delete from region", "25006", ""),
                 ("select 1; select 2", "0A000", ""), ("select pg_terminate_backend(0)", "25006", ""),
                 ("select r_name,\n  nosuch from region", "42703", "nosuch")]
        for text, state, word in cases:
            self.page.run(f"write({json.dumps(text)}), runOne(serial)|0")
            self.page.wait(IDLE + " && serial.problem !== null")
            problem = self.page.run("serial.problem")
            assert problem.get("state") == state, (text, problem)
            assert problem["message"] in self.text("verdict") and problem["message"] in self.text("status")
            bad = "getComputedStyle(%s).color === getComputedStyle($('below').querySelector('.error')).color"
            assert self.page.run(bad % "$('status')"), "the error beside the buttons is grey"
            assert self.page.run("serial.parts.time.textContent") == "–"
            if word:
                chosen = "$('sql').value.slice($('sql').selectionStart, $('sql').selectionEnd)"
                assert self.page.run(chosen) == word, self.page.run(chosen)
                lines = self.page.run("$('below').querySelector('pre').textContent").split("\n")
                assert lines[0].startswith("LINE 2: ") and lines[0][lines[1].index("^"):].startswith(word), lines
        self.shoot("console-error.png")


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
        with tempfile.TemporaryDirectory() as folder:
            test = Test(page, folder, options.shots)
            for step in [test.first_visit, test.alone, test.widths, test.below, test.export_and_replay,
                         test.replay_can_be_stopped, test.dark, test.together, test.samples,
                         test.verdict_without_reads, test.density, test.cancel]:
                step()
                assert not page.errors, (step.__name__, page.errors)
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
