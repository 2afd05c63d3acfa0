#!/usr/bin/env python3
"""Builds the wheel, installs it into a new environment and runs the tests of the package there.

    python3 crates/python/tests/run.py [--release] [--wheel FILE] [TEST ..]
    python3 crates/python/tests/run.py --fetch

Default: the debug build, which the tests of the workspace make. pyarrow, pandas and polars are installed once, under
target/python (with `--fetch` nothing else is done); tests of those that cannot be had are skipped, counted, and say why. The last line has the counts as a
test harness prints them. Exit status: 0 when nothing failed.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import build_wheel  # noqa: E402

LIBRARIES = ["pyarrow", "pandas", "polars"]

# A download that hangs costs the gate no more than this.
FETCH_S = 150


def libraries():
    """The folder with the optional libraries, of this version of Python, and why some are not there."""
    folder = build_wheel.target_folder() / "python" / "libraries"
    why = {}
    for name in LIBRARIES:
        if not (folder / name).is_dir():
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                       "--target", folder, "--upgrade", name]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_S)
                failed = done.stderr.strip().splitlines()[-1:] if done.returncode else []
            except subprocess.TimeoutExpired:
                failed = [f"no answer within {FETCH_S} s"]
            if failed:
                why[name] = failed[0]
    return folder, why


def run(wheel, tests):
    folder, why = libraries()
    with tempfile.TemporaryDirectory() as scratch:
        environment = pathlib.Path(scratch) / "environment"
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        # Without an index: the wheel needs nothing else.
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheel],
                       check=True)
        variables = {**os.environ, "PYTHONPATH": str(folder), "PYTHONFAULTHANDLER": "1"}
        variables |= {f"WITHOUT_{name.upper()}": reason for name, reason in why.items()}
        # Not in the folder of the package's source.
        return subprocess.run([python, HERE / "harness.py", *tests], cwd=scratch, env=variables).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    if arguments.fetch:
        sys.exit(len(libraries()[1]))
    wheel = arguments.wheel
    if wheel is None:
        module = build_wheel.build(debug=not arguments.release)
        wheel = build_wheel.pack(module, build_wheel.target_folder() / "python")
    print(f"the wheel: {wheel.name}, {wheel.stat().st_size / 2**20:.1f} MiB", flush=True)
    sys.exit(run(wheel, arguments.tests))


if __name__ == "__main__":
    main()
