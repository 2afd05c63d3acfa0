"""Kills the writer of a table in an object store as a process, in the midst of a load: the table is then the old or the
new one.

    killed.py PROGRAM SCRATCH LOCATION ENDPOINT [ROUNDS] [SEED]

The store is served by another process, and the keys for it are in the environment. Each round begins a load and sends
SIGKILL: after a random part of the time that a load takes, or, every other time, as soon as the store has the new list
of the table, which the writer may or may not know by then. Then a third process looks into the bucket, which knows
nothing of the writer's file, and a fourth opens the file: both find all rows of the load, or none. A load that was
acknowledged is there for both; one whose list was put is there for whoever looks into the bucket, and where the file
has undone it, until the next load (docs/format/remote.md, section 3). Each round goes on from the file of the last one,
and at last a load that nobody kills is there for both, with nothing of those that were undone.
"""

import hashlib
import hmac
import http.client
import os
import random
import signal
import subprocess
import sys
import time

ROWS = 120_000
LOOK = "select count(*), coalesce(sum(a), 0), coalesce(sum(length(c)), 0) from t"


class Object:
    """An object of the store, asked for by requests that are signed by code of our own (Signature Version 4)."""

    def __init__(self, endpoint, path):
        self.host, self.path = endpoint.removeprefix("http://"), path
        self.connection = http.client.HTTPConnection(self.host, timeout=60)

    def tag(self):
        """What changes whenever it is written."""
        nothing, now = hashlib.sha256(b"").hexdigest(), time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        scope, names = f"{now[:8]}/us-east-1/s3/aws4_request", "host;x-amz-content-sha256;x-amz-date"
        headers = f"host:{self.host}\nx-amz-content-sha256:{nothing}\nx-amz-date:{now}\n"
        request = hashlib.sha256(f"HEAD\n{self.path}\n\n{headers}\n{names}\n{nothing}".encode()).hexdigest()
        key = ("AWS4" + os.environ["AWS_SECRET_ACCESS_KEY"]).encode()
        for part in scope.split("/") + [f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{request}"]:
            key = hmac.digest(key, part.encode(), "sha256")
        who = f"Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
        self.connection.request("HEAD", self.path, headers={
            "x-amz-content-sha256": nothing, "x-amz-date": now, "authorization": f"AWS4-HMAC-SHA256 {who}"})
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 200:
            sys.exit(f"killed.py: HEAD {self.path}: {answer.status}")
        return answer.headers["ETag"]


class Writer:
    def __init__(self, program, scratch, location, endpoint):
        self.program = program
        self.file = os.path.join(scratch, "killed.dovetail")
        keys = f"key_id '{os.environ['AWS_ACCESS_KEY_ID']}', secret '{os.environ['AWS_SECRET_ACCESS_KEY']}'"
        self.run(self.file, f"create secret s (type s3, {keys}, endpoint '{endpoint}')",
                 f"create table t (a bigint, c text) with (location = '{location}/t')", load(0))

    def command(self, database, *texts):
        # With so little memory that each load goes to the store.
        program = [self.program, "sql", database, "--memory", "128MB", "--csv", "-t"]
        return program + [part for text in texts for part in ("-c", text)]

    def run(self, database, *texts):
        done = subprocess.run(self.command(database, *texts), capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            sys.exit(f"killed.py: {texts[-1]} in {database}: {done.stdout}{done.stderr}")
        return done.stdout.strip().splitlines()[-1]

    def killed(self, text, is_over):
        """Whether the load was acknowledged, and whether the process was killed once `is_over` said so."""
        process = subprocess.Popen(self.command(self.file, text), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        while process.poll() is None:
            if is_over():
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.001)
        output = process.communicate()[0].decode()
        if process.returncode not in (0, -signal.SIGKILL):
            sys.exit(f"killed.py: the load failed: {output}")
        return "INSERT" in output, process.returncode != 0


def load(number):
    first = number * ROWS
    return f"insert into t select i, md5(i::text) from generate_series({first}, {first + ROWS - 1}) g(i)"


def shown(loads):
    """What LOOK finds after these loads."""
    rows = len(loads) * ROWS
    return f"{rows},{sum(range(ROWS)) * len(loads) + sum(loads) * ROWS * ROWS},{32 * rows}"


def main():
    program, scratch, location, endpoint, *more = sys.argv[1:]
    rounds = int(more[0]) if more else 8
    seed = int(more[1]) if len(more) > 1 else random.randrange(1 << 32)
    chance, writer = random.Random(seed), Writer(program, scratch, location, endpoint)
    rows_list = Object(endpoint, f"/{location.removeprefix('s3://')}/t/list")
    begun = time.monotonic()
    writer.run(writer.file, load(1))
    load_s, loads, killed_count, kept_count, undone_count = time.monotonic() - begun, [0, 1], 0, 0, 0
    published = shown(loads)
    for number in range(2, rounds + 3):
        is_last, tag = number == rounds + 2, rows_list.tag() if number % 2 == 0 else None
        end = time.monotonic() + chance.uniform(0.3, 1) * load_s
        by_list, by_time = (lambda: rows_list.tag() != tag), (lambda: time.monotonic() > end)
        is_over = (lambda: False) if is_last else by_list if tag else by_time
        acknowledged, killed = writer.killed(load(number), is_over)
        in_bucket, in_file = writer.run(location, LOOK), writer.run(writer.file, LOOK)
        old, new = shown(loads), shown(loads + [number])
        is_right = in_file in (old, new) and in_bucket in (published, new) and (in_file == old or in_bucket == new)
        if not is_right or (acknowledged and in_file != new) or (tag and in_bucket != new):
            sys.exit(f"killed.py: seed {seed}, round {number}: the bucket has {in_bucket}, the file {in_file}; before "
                     f"there were {published} and {old}, the load makes {new}; acknowledged: {acknowledged}, list: {tag}")
        killed_count, kept_count = killed_count + killed, kept_count + (killed and in_file == new)
        undone_count += in_bucket == new and in_file == old
        loads, published = loads + ([number] if in_file == new else []), in_bucket
    if killed_count == 0 or not acknowledged:
        sys.exit(f"killed.py: seed {seed}: {killed_count} loads were killed, and the last one was not acknowledged")
    print(f"{killed_count} loads killed: {kept_count} are there, {undone_count} were undone with their list put, and "
          f"{killed_count - kept_count - undone_count} without (seed {seed})")


main()
