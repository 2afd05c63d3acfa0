"""A virtual machine with emulated NVMe devices: its files in memory, its images, its run."""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import threading

from kernels import Unavailable, done

# Bytes of memory: for the programs, their buffers, and the files in memory.
MEMORY_MIB = 1536
# Seconds that a machine may run: emulated without KVM, ten minutes.
LIMIT_S = {"kvm": 240, "tcg": 600}
# The processor. Emulated ones spoil what `cmpxchg16b` is for, free lists of the kernel (QEMU 7.2).
PROCESSOR = {"kvm": "max", "tcg": "max,cx16=off"}
# Seconds for a kernel without any file, which ends at once; in the KVM of some hosts nothing runs.
TRIAL_S = 15


class Image:
    """A device's image. `broken_at`: reads of this byte fail."""

    def __init__(self, serial, path, size, block_bytes=512, broken_at=None, has_files=False):
        self.serial, self.path, self.block_bytes = serial, path, block_bytes
        self.broken_at = broken_at
        with open(path, "wb") as out:
            out.truncate(size)
        if has_files:
            done("mkfs.ext4", "-q", "-F", path)

    def options(self):
        """The device as QEMU wants to have it described."""
        drive = f"if=none,id={self.serial},format=raw,file={self.path}"
        if self.broken_at is not None:
            rules = self.path.with_suffix(".rules")
            rules.write_text('[inject-error]\nevent = "read_aio"\nerrno = "5"\n'
                             f'sector = "{self.broken_at // 512}"\n')
            drive = f"if=none,id={self.serial},format=raw,file=blkdebug:{rules}:{self.path}"
        space = f"nvme-ns,drive={self.serial},bus={self.serial}-bus"
        space += f",logical_block_size={self.block_bytes},physical_block_size={self.block_bytes}"
        return ["-drive", drive, "-device", f"nvme,id={self.serial}-bus,serial={self.serial}",
                "-device", space]

    def read(self, offset, size):
        with open(self.path, "rb") as file:
            file.seek(offset)
            return file.read(size)

    def erase(self, offset, size):
        with open(self.path, "r+b") as file:
            file.seek(offset)
            file.write(bytes(size))


def newc(name, mode, data=b""):
    """A file of an archive as the kernel unpacks it into memory (cpio, format newc)."""
    fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    pad = lambda block: block + b"\0" * (-len(block) % 4)  # noqa: E731
    return pad(head) + pad(data)


def libraries(program):
    """The files that a program is linked to, the loader among them."""
    return re.findall(r"(/\S+) \(0x", done("ldd", program))


INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t devtmpfs none /dev; mount -t proc none /proc; mount -t sysfs none /sys
mkdir -p /dev/shm; mount -t tmpfs none /dev/shm; mount -t tmpfs none /tmp
dmesg -n 1; echo "== $(uname -r)"
for c in /sys/class/nvme/nvme*; do
  read serial < $c/serial; n=${c##*/nvme}
  eval "$serial=ng${n}n1"; eval "${serial}_block=nvme${n}n1"
  echo "== /dev/ng${n}n1 is $serial, io_poll $(cat /sys/class/block/nvme${n}n1/queue/io_poll)"
done
mount /dev/$mounted_block /mnt || echo "== not mounted"
"""


class Machine:
    """A machine that runs steps, one after the other, and ends."""

    @staticmethod
    def prepare():
        """Sees to the programs that it needs."""
        wanted = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static"}
        missing = [package for program, package in wanted.items() if not shutil.which(program)]
        if missing:
            print(f"installs {' '.join(missing)}", flush=True)
            done("apt-get", "install", "-y", "--no-install-recommends", *missing)

    def __init__(self, folder, files, images, kernel):
        self.folder, self.files, self.images, self.kernel = folder, files, images, kernel
        self.accelerator = "kvm" if self.kvm_works() else "tcg"

    def command(self, accelerator, words, *options):
        """A machine with one processor, whose first serial line is the standard output."""
        words = f"console=ttyS0 quiet oops=panic panic=-1 {words}"
        return ["qemu-system-x86_64", "-accel", accelerator, "-cpu", PROCESSOR[accelerator],
                "-smp", "1", "-m", str(MEMORY_MIB), "-nographic", "-no-reboot", "-nodefaults",
                "-serial", "stdio", "-kernel", self.kernel, "-append", words, *options]

    def kvm_works(self):
        """True if a kernel gets as far as missing its files."""
        if not os.access("/dev/kvm", os.R_OK | os.W_OK):
            return False
        try:
            ended = subprocess.run(self.command("kvm", ""), capture_output=True, timeout=TRIAL_S,
                                   stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return ended.returncode == 0

    def archive(self, steps):
        """The files in memory, with a script that runs the steps."""
        files = {"bin/busybox": pathlib.Path(shutil.which("busybox")), **self.files}
        for program in self.files.values():
            files.update({name.lstrip("/"): pathlib.Path(name) for name in libraries(program)})
        folders = {str(parent) for name in files for parent in pathlib.Path(name).parents}
        folders = sorted((folders | {"dev", "proc", "sys", "tmp", "mnt"}) - {"."})
        script = INIT + "".join(
            f'echo "== {name}"; ({command}) 2>&1; echo "== {name}: exit $?"\n'
            for name, command in steps)
        script += 'umount /mnt; echo "== end"; reboot -f\n'
        parts = [newc(name, 0o40755) for name in folders]
        parts += [newc(name, 0o100755, path.read_bytes()) for name, path in files.items()]
        return b"".join(parts + [newc("init", 0o100755, script.encode()), newc("TRAILER!!!", 0)])

    def run(self, steps, poll_queues, told):
        """The lines that the machine prints, from its first step on; `told` gets each at once."""
        memory = self.folder / "initramfs"
        memory.write_bytes(gzip.compress(self.archive(steps), 1))
        devices = [option for image in self.images for option in image.options()]
        words = f"nvme.poll_queues={poll_queues}"
        command = self.command(self.accelerator, words, "-initrd", memory, *devices)
        lines, before = self.said(command, told)
        if not lines:
            raise Unavailable(f"the machine does not start: {' | '.join(before[-3:])}")
        return lines

    def said(self, command, told):
        """The lines of a machine from its first step on, each told at once; and those before."""
        lines, before = [], []
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as machine:
            end = threading.Timer(LIMIT_S[self.accelerator], machine.kill)
            end.start()
            for line in machine.stdout:
                line = line.decode(errors="replace").strip()
                # Escapes of the firmware stand before the first line.
                if not lines and "== " not in line:
                    before.append(line)
                    continue
                lines.append(line if lines else line[line.index("== "):])
                told(lines[-1])
            end.cancel()
        return lines, before
