"""DuckDB for `dovetail bench remote`: a JSON object a line, in both directions."""

import json
import pathlib
import resource
import sys
import time


def say(**what):
    print(json.dumps(what), flush=True)


def load_httpfs(db):
    """From where it was installed, from the package of PyPI, or from DuckDB's own server."""
    try:
        db.execute("load httpfs")
        return
    except Exception:
        pass
    try:
        import duckdb_extension_httpfs as package
        [found] = pathlib.Path(package.__file__).parent.glob("extensions/*/httpfs.duckdb_extension")
        db.execute(f"load '{found}'")
        return
    except ImportError:
        db.execute("install httpfs")
    db.execute("load httpfs")


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(memory, threads):
    try:
        import duckdb
        db = duckdb.connect()
        load_httpfs(db)
    except Exception as error:
        say(error=" ".join(str(error).split()))
        return
    db.execute(f"set memory_limit = '{memory}'; set threads = {threads}; set enable_progress_bar = false")
    # Nothing is kept of what was downloaded, but what files say of themselves: the headers of chunks are local, too.
    db.execute("set enable_external_file_cache = false")
    db.execute("set parquet_metadata_cache = true")
    query = "select extension_version from duckdb_extensions() where extension_name = 'httpfs'"
    httpfs = db.execute(query).fetchone()[0]
    say(version=f"DuckDB {duckdb.__version__}, httpfs {httpfs}, {threads} threads, {memory}")
    for line in sys.stdin:
        try:
            began, before = time.perf_counter(), cpu_s()
            rows = db.execute(json.loads(line)["query"]).fetchall()
            say(ms=(time.perf_counter() - began) * 1e3, cpu_s=cpu_s() - before, rows=len(rows))
        except Exception as error:
            say(error=" ".join(str(error).split()))


main(*sys.argv[1:])
