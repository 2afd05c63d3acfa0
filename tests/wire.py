"""The simple query protocol of PostgreSQL, in as few lines as a test needs; no package but Python's own."""

import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time


class Refused(Exception):
    """An error that the server reported."""

    def __init__(self, state, message):
        super().__init__(f"{state}: {message}")
        self.state = state
        self.message = message


class Connection:
    """One session. Rows come as lists of text, `None` for null."""

    def __init__(self, port, user="postgres", database="postgres", host="127.0.0.1", timeout=120):
        self.stream = socket.create_connection((host, port), timeout=timeout)
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = self.stream.makefile("rb", 1 << 16)
        self.address, self.key = (host, port), b""
        fields = ["user", user, "database", database, "client_encoding", "UTF8"]
        body = struct.pack("!i", 196608) + b"".join(f.encode() + b"\0" for f in fields) + b"\0"
        self.stream.sendall(struct.pack("!i", len(body) + 4) + body)
        self.answer()

    def query(self, sql, data=b""):
        """The rows of the last statement in `sql`; an error of the server is raised. `data` is what a COPY .. FROM
        STDIN gets; the lines of a COPY .. TO STDOUT are rows of one value."""
        body = sql.encode() + b"\0"
        self.stream.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        return self.answer(data)

    def answer(self, data=b""):
        rows, error, self.tag = [], None, ""
        while True:
            head = self.input.read(5)
            if len(head) < 5:
                raise EOFError("the server closed the connection")
            kind, length = head[:1], struct.unpack("!i", head[1:])[0]
            body = self.input.read(length - 4)
            if kind == b"T":
                rows = []
            elif kind == b"D":
                rows.append(cells(body))
            elif kind == b"C":
                self.tag = body[:-1].decode()
            elif kind == b"G":
                for at in range(0, len(data), 1 << 20):
                    piece = data[at:at + (1 << 20)]
                    self.stream.sendall(b"d" + struct.pack("!i", len(piece) + 4) + piece)
                self.stream.sendall(b"c" + struct.pack("!i", 4))
            elif kind == b"d":
                rows.append([body.decode()])
            elif kind == b"E":
                error = refusal(body)
            elif kind == b"K":
                self.key = body
            elif kind == b"R" and struct.unpack("!i", body[:4])[0] != 0:
                raise Refused("28000", "the server wants a password")
            elif kind == b"Z":
                if error:
                    raise error
                return rows

    def cancel(self):
        """Asks the server, over a connection of its own, to end what this session does."""
        with socket.create_connection(self.address, timeout=120) as stream:
            stream.sendall(struct.pack("!ii", len(self.key) + 8, 80877102) + self.key)

    def close(self):
        self.input.close()
        self.stream.close()


def cells(body):
    count, at, row = struct.unpack("!h", body[:2])[0], 2, []
    for _ in range(count):
        length = struct.unpack("!i", body[at : at + 4])[0]
        at += 4
        row.append(None if length < 0 else body[at : at + length].decode())
        at += max(length, 0)
    return row


def refusal(body):
    fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
    return Refused(fields.get(b"C", "?"), fields.get(b"M", "?"))


class Server:
    """A server of the binary on a fresh database; gives its port. `flags` are more of its command line."""

    def __init__(self, binary, *flags):
        self.binary, self.flags, self.process, self.folder = binary, flags, None, None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="dovetail-test-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            [self.binary, "serve", "--no-http", "--listen", f"127.0.0.1:{port}", "--data", f"{self.folder}/t.dovetail",
             *self.flags],
            stdout=subprocess.DEVNULL, stderr=open(f"{self.folder}/log", "w"),
        )
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return port
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"the server did not start: {open(self.folder + '/log').read()}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
