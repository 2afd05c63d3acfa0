#!/usr/bin/env python3
"""Builds the wheel: `pip install target/wheels/dovetail-*.whl`. It needs Rust, a C compiler and this Python alone.

    python3 crates/python/build_wheel.py [--debug] [--out FOLDER]        default: a release build, target/wheels

The module is made for the stable interface of Python, so one wheel is for 3.9 and all later versions. Its name says
which C library it needs: the newest symbol version that the module asks for. `--debug` packs the module that
`cargo test` makes, for tests.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODULE = "libdovetail_native.so"

# The libraries that every system has on which such wheels may be installed (PEP 600).
EVERYWHERE = re.compile(rb"(lib(c|m|dl|rt|pthread|gcc_s)|ld-linux[a-z0-9_-]*)\.so\.\d+")

METADATA = """\
Metadata-Version: 2.1
Name: dovetail
Version: {version}
Summary: Dovetail, a SQL database engine in which a core never waits: DB-API 2.0, and Arrow in and out.
License: {license}
Home-page: {repository}
Requires-Python: >=3.9
Provides-Extra: arrow
Requires-Dist: pyarrow; extra == "arrow"
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Requires-Dist: pyarrow; extra == "pandas"
Provides-Extra: polars
Requires-Dist: polars; extra == "polars"
"""

WHEEL = """\
Wheel-Version: 1.0
Generator: crates/python/build_wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""


def target_folder():
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def build(debug):
    """Has cargo make the module; its path."""
    cargo = os.environ.get("CARGO", "cargo")
    # A test build resolves the same features as the rest of the workspace's tests, so little is compiled anew.
    arguments = (["test", "--workspace", "--test", "module", "--no-run"] if debug else
                 ["build", "--release", "--package", "python"])
    subprocess.run([cargo, *arguments, "--quiet"], cwd=ROOT, check=True)
    # What a test only uses stays where it was made.
    return target_folder() / ("debug/deps" if debug else "release") / MODULE


def tag(module):
    """The tag of the wheel, from what the module needs."""
    data = module.read_bytes()
    foreign = [name.decode() for name in dynamic_names(data) if not EVERYWHERE.fullmatch(name)]
    if foreign:
        sys.exit(f"the module needs {', '.join(foreign)}, which not every system has")
    minors = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)\b", data)]
    machine = platform.machine()
    # Older ones have no such tag (PEP 600 begins at 2.5), and Rust itself needs 2.17.
    return f"cp39-abi3-manylinux_2_{max([17, *minors])}_{machine}"


def dynamic_names(data):
    """The libraries that an ELF file of 64 bits asks for by name."""
    read = lambda at, size: int.from_bytes(data[at:at + size], "little")  # noqa: E731
    table, size, count = read(40, 8), read(58, 2), read(60, 2)
    sections = [table + number * size for number in range(count)]
    dynamic = next(section for section in sections if read(section + 4, 4) == 6)
    strings = read(sections[read(dynamic + 40, 4)] + 24, 8)
    begin, length = read(dynamic + 24, 8), read(dynamic + 32, 8)
    names = set()
    for entry in range(begin, begin + length, 16):
        if read(entry, 8) == 1:
            at = strings + read(entry + 8, 8)
            names.add(data[at:data.index(b"\0", at)])
    return names


def files(module, tag, facts):
    """The files of the wheel: paths with contents."""
    version = facts["version"]
    info = f"dovetail-{version}.dist-info"
    for source in sorted((HERE / "dovetail").glob("*.py")):
        yield f"dovetail/{source.name}", source.read_bytes()
    yield "dovetail/_version.py", f'"""The version of the package."""\n\n__version__ = "{version}"\n'.encode()
    yield "dovetail/_native.abi3.so", module.read_bytes()
    yield f"{info}/METADATA", METADATA.format(**facts).encode()
    yield f"{info}/WHEEL", WHEEL.format(tag=tag).encode()
    yield f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes()


def pack(module, folder):
    """Writes the wheel into a folder; its path."""
    manifest = (ROOT / "Cargo.toml").read_text().partition("[workspace.package]")[2].partition("\n[")[0]
    facts = dict(re.findall(r'^([\w-]+) = "(.*)"$', manifest, re.MULTILINE))
    name = f"dovetail-{facts['version']}-{tag(module)}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    record = []
    info = f"dovetail-{facts['version']}.dist-info"
    # A debug module is large, and is installed once.
    method = zipfile.ZIP_STORED if "debug" in module.parts else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(folder / name, "w") as wheel:
        for path, content in files(module, tag(module), facts):
            # The same input gives the same wheel.
            entry = zipfile.ZipInfo(path)
            entry.external_attr, entry.compress_type = 0o644 << 16, method
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}")
        record.append(f"{info}/RECORD,,")
        wheel.writestr(f"{info}/RECORD", "\n".join(record) + "\n")
    return folder / name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--debug", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=target_folder() / "wheels")
    arguments = parser.parse_args()
    print(pack(build(arguments.debug), arguments.out))


if __name__ == "__main__":
    main()
