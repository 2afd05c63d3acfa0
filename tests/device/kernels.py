"""Kernels of Debian, downloaded and never installed."""

import pathlib
import re
import subprocess

PACKAGE = "linux-image-cloud-amd64"


class Unavailable(Exception):
    """This machine lacks what a virtual one needs."""


def done(*command, **options):
    """Runs a program, which must be there and succeed; what it prints."""
    try:
        ended = subprocess.run(command, capture_output=True, text=True, **options)
    except OSError as error:
        raise Unavailable(f"{command[0]}: {error}")
    if ended.returncode != 0:
        raise Unavailable(f"{' '.join(map(str, command[:3]))}: {ended.stderr.strip()[-300:]}")
    return ended.stdout


def kernel(cache, suffix=""):
    """The newest kernel of this release of Debian, or with `-backports` of those for it."""
    folder = pathlib.Path(cache, "kernel" + suffix).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if not (found := sorted(folder.glob("boot/vmlinuz-*"))):
        options = backports(folder, suffix) if suffix else []
        needs = done("apt-cache", *options, "depends", PACKAGE)
        if not (package := re.search(r"Depends: (linux-image-\S+)", needs)):
            raise Unavailable(f"apt knows no {PACKAGE}{suffix}")
        done("apt-get", *options, "download", package[1], cwd=folder)
        done("dpkg-deb", "-x", *folder.glob("linux-image-*.deb"), folder)
        found = sorted(folder.glob("boot/vmlinuz-*"))
    return found[-1]


def backports(folder, suffix):
    """Options of apt by which it looks only where this machine's Debian has what `suffix` says."""
    release = pathlib.Path("/etc/os-release").read_text()
    if not (codename := re.search(r"VERSION_CODENAME=(\S+)", release)):
        raise Unavailable("this is no Debian")
    folder_of_apt = pathlib.Path("/etc/apt")
    files = [*folder_of_apt.glob("sources.list.d/*.sources"), folder_of_apt / "sources.list"]
    sources = [path.read_text() for path in files if path.exists()]
    # The first place of an archive whose suite is that of the release.
    place = rf"(?:URIs: *(\S+)\nSuites:.*\b{codename[1]}\b(?!-security)" \
        rf"|^deb (?:\[.*\] )?(\S+) {codename[1]} )"
    found = next((found for text in sources if (found := re.search(place, text, re.M))), None)
    if not found:
        raise Unavailable("apt has no archive of this release")
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    source = folder / "sources.list"
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    source.write_text(f"deb [signed-by={key}] {found[1] or found[2]} {codename[1]}{suffix} main\n")
    options = ["-o", f"Dir::Etc::sourcelist={source}", "-o", "Dir::Etc::sourceparts=-",
               "-o", f"Dir::State::lists={lists}"]
    done("apt-get", *options, "update")
    return options
