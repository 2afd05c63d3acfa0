#!/usr/bin/env python3
"""The console's login as a visitor meets it: a wrong password, the right one, privileges, the switch
that allows writes, logging out.

    tests/console/test_login.py BINARY [--shots FOLDER]

Makes a database of its own. Without Chromium the test is skipped, and says so loudly.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import browser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import wire  # noqa: E402

IDLE = "!busy && columns.every(c => !c.active())"
SETUP = """create table secret (a int); insert into secret values (42);
           create role ann login password 'pencil'; alter role dovetail password 'owner'"""


def serve(binary, folder):
    """Starts a server, makes roles with passwords; the process and the address of its console."""
    process = subprocess.Popen(
        [binary, "serve", "--data", f"{folder}/t.dovetail", "--memory", "64MB", "--listen",
         "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--console-writes"],
        stderr=subprocess.PIPE, text=True)
    port = None
    for line in process.stderr:
        if "Listening at 127.0.0.1:" in line:
            port = int(line.split("Listening at 127.0.0.1:")[1].split(".")[0])
        if "Console at " in line:
            wire.Connection(port).query(SETUP)
            return process, line.split("Console at ")[1].split()[0].rstrip(",")
    raise AssertionError("the server did not start")


class Test:
    def __init__(self, page):
        self.page = page

    def log_in(self, role, password):
        self.page.wait("$('login').open && !$('enter').disabled")
        self.page.run(f"$('role').value = {json.dumps(role)}, $('password').value = {json.dumps(password)}, "
                      "$('loginform').requestSubmit()")

    def run(self, text):
        """Runs a statement in the last column; its SQLSTATE if it fails, else its first row or tag."""
        self.page.run(f"columns[2].clear(), $('sql').value = {json.dumps(text)}, runOne(columns[2])|0")
        self.page.wait(IDLE + " && (columns[2].problem || columns[2].end)")
        return self.page.run("columns[2].problem ? columns[2].problem.state : "
                             "(columns[2].end.result.rows || [[columns[2].end.result.tag]])[0][0]")

    def check(self, what, got, expected):
        assert got == expected, f"{what}: {got!r}, expected {expected!r}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("binary")
    arguments.add_argument("--shots")
    options = arguments.parse_args()
    path = browser.find()
    if not path:
        print("SKIPPED: the login was NOT tested, there is no Chromium here (apt install chromium)",
              file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        server, address = serve(options.binary, folder)
        page = browser.Browser(path, 1366, 768)
        try:
            walk(page, address, options.shots)
        finally:
            page.close()
            server.terminate()
            server.wait()
    print("the login works")
    return 0


def walk(page, address, shots):
    test = Test(page)
    page.open(address)
    test.log_in("ann", "wrong")
    page.wait("$('loginproblem').textContent.includes('password authentication failed')")
    if shots:
        page.run("theme('light')")
        page.shoot(os.path.join(shots, "console-login.png"))
    test.log_in("ann", "pencil")
    page.wait("!$('login').open && $('facts').textContent !== ''")
    test.check("who", test.run("select current_user"), "ann")
    test.check("no privilege", test.run("select * from secret"), "42501")
    test.check("the cookie is out of the page's reach", page.run("document.cookie"), "")
    assert page.run("$('cold').disabled && !$('cold').checked"), "only superusers start cold"
    page.run("$('logout').click()")
    page.wait("typeof columns !== 'undefined' && $('login').open")
    test.log_in("dovetail", "owner")
    page.wait("!$('login').open && !$('cold').disabled && !$('writing').hidden")
    test.check("rows", test.run("select * from secret"), "42")
    test.check("reads only", test.run("create table made (a int)"), "25006")
    page.run("$('writes').click()")
    test.check("writes", test.run("create table made (a int)"), "CREATE TABLE")


if __name__ == "__main__":
    sys.exit(main())
