"""Texts of statements: question marks as the engine's own parameters."""

import functools
import re

from . import _errors

# What a question mark may stand in without being a parameter. Comments nest, which no pattern can follow: they are
# taken apart by hand.
_TOKEN = re.compile(
    r"""(?P<text>[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*')
      | (?P<name>"(?:[^"]|"")*")
      | (?P<dollar>\$(?P<tag>[A-Za-z_]\w*)?\$.*?\$(?(tag)(?P=tag))\$)
      | (?P<line>--[^\n]*)
      | (?P<block>/\*)
      | (?P<number>\$\d+)
      | (?P<word>\w[\w$]*)
      | (?P<mark>\?)""",
    re.VERBOSE | re.DOTALL,
)
_EDGE = re.compile(r"/\*|\*/")


@functools.lru_cache(maxsize=256)
def numbered(text):
    """The text with `$1`, `$2` .. for its question marks; one that has none is left as it is."""
    if "?" not in text:
        return text
    parts, begin, at, count, has_numbers = [], 0, 0, 0, False
    while found := _TOKEN.search(text, at):
        at = found.end()
        if found["block"]:
            at = _end_of_comment(text, at)
        has_numbers |= found["number"] is not None
        if found["mark"]:
            count += 1
            parts += [text[begin:found.start()], f"${count}"]
            begin = at
    if count and has_numbers:
        raise _errors.ProgrammingError("a statement has parameters written as ? or as $1, not both")
    return "".join(parts) + text[begin:]


def _end_of_comment(text, at):
    depth = 1
    while depth and (edge := _EDGE.search(text, at)):
        depth += 1 if edge[0] == "/*" else -1
        at = edge.end()
    return len(text) if depth else at


def values(parameters):
    """The values of one row of parameters, in order."""
    if isinstance(parameters, (str, bytes, bytearray, dict, set, frozenset)):
        kind = type(parameters).__name__
        raise _errors.ProgrammingError(f"parameters are a sequence of values, such as a tuple or a list, not a {kind}")
    return parameters
