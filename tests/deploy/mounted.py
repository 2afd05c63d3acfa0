"""A file system of its own, in a file: small, and one whose power can be cut. Needs root and loop devices."""

import fcntl
import os
import pathlib
import struct
import subprocess
import sys
import time

# What the kernel calls FS_IOC_SHUTDOWN: the file system takes nothing any more, as if its device were gone.
SHUTDOWN = 0x8004587D
# Its own log goes to the device first, or it does not.
LOGFLUSH, NOLOGFLUSH = 1, 2


class Unavailable(Exception):
    """This machine lends no file system of its own."""


class FileSystem:
    """An ext4 file system; its image lies in `folder`, and it is mounted at `folder`/mounted."""

    def __init__(self, folder, size_mib):
        self.image, self.root = pathlib.Path(folder, "image"), pathlib.Path(folder, "mounted")
        self.root.mkdir(exist_ok=True)
        with open(self.image, "wb") as out:
            out.truncate(size_mib << 20)
        self.do("mkfs.ext4", "-q", self.image)
        self.mount()

    def do(self, *command):
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise Unavailable(f"{command[0]}: {error}")
        if done.returncode != 0:
            raise Unavailable(f"{command[0]}: {done.stderr.strip()}")

    def mount(self):
        self.do("mount", "-o", "loop", self.image, self.root)

    def cut(self, flags):
        """Ends all writing, now."""
        handle = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, SHUTDOWN, struct.pack("I", flags))
        finally:
            os.close(handle)

    def unmount(self):
        """The kernel closes the files of a ring a moment after their process has ended."""
        for _ in range(200):
            if subprocess.run(["umount", self.root], capture_output=True).returncode == 0:
                return
            time.sleep(0.05)
        subprocess.run(["umount", "-l", self.root], capture_output=True)
        sys.exit(f"FAILED   {self.root} is still in use")


def skip(reason):
    """The end of a test that cannot be made here."""
    print(f"SKIPPED  no file system of its own: {reason}")
    print("test result: ok. 0 passed; 0 failed; 1 ignored;")
    sys.exit(0)
