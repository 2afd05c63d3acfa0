"""A line that shows how far a query is, in a terminal or a notebook."""

import sys

# Shorter queries show nothing.
_AFTER_S = 2.0
_WIDTH = 24


def is_wanted():
    """Whether somebody looks: a terminal, or a notebook."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


class Bar:
    """Is called while a query runs, and with `None` at its end."""

    def __init__(self, after_s=_AFTER_S, stream=None):
        self._after_s, self._stream, self._shown = after_s, stream, 0

    def __call__(self, elapsed_s, parts_done, parts_known, rows):
        if elapsed_s is None:
            return self._end()
        if elapsed_s >= self._after_s:
            self._show(_line(elapsed_s, parts_done, parts_known, rows))
        return None

    def _show(self, line):
        stream = self._stream or sys.stderr
        stream.write("\r" + line.ljust(self._shown))
        stream.flush()
        self._shown = len(line)

    def _end(self):
        if self._shown:
            self._show("")
            (self._stream or sys.stderr).write("\r")
            self._shown = 0


def _line(elapsed_s, parts_done, parts_known, rows):
    filled = _WIDTH * min(parts_done, parts_known) // parts_known if parts_known else 0
    bar = "█" * filled + "░" * (_WIDTH - filled)
    # Scans find their parts while they run, so there may be more than are known.
    return f"{bar} {parts_done} of {parts_known} known parts, {rows:,} rows, {elapsed_s:.0f} s"
