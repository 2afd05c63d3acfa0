"""Whether the rows of another engine and ours are the same, where SQL leaves open which come first.

A query runs without its last LIMIT, and all of its rows are compared, without regard to their order. Then it runs as it
is: as many rows as the other engine's, all of them among those of the whole result; rows that differ then are `ties`.
Whole numbers are equal when all of their digits are; others when they differ by less than a millionth: DuckDB divides
and averages in binary.
"""

import collections
import re
from decimal import Decimal

import wire

TOLERANCE = Decimal("1e-6")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.I)
TRUTHS = {"True": "t", "False": "f"}


def unlimited(sql):
    """A query without its last LIMIT, if that stands at the end."""
    return re.sub(r"\blimit\s+\d+(\s+offset\s+\d+)?\s*;?\s*$", "", sql.strip(), flags=re.I)


def canonical(value):
    if value is None:
        return None
    text = str(value)
    return Decimal(text) if NUMBER.fullmatch(text) else TRUTHS.get(text, text)


def rows_of(run, sql):
    return [[canonical(value) for value in row] for row in run(sql)]


def rough(row):
    """A row by which rows are sorted before they are compared."""
    def one(value):
        if not isinstance(value, Decimal):
            return value is None, str(value)
        return False, str(int(value)) if value == value.to_integral_value() else f"{value:.4e}"
    return tuple(map(one, row))


def is_whole(value):
    return value.as_tuple().exponent == 0


def same_value(left, right):
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        if is_whole(left) and is_whole(right):
            return left == right
        return abs(left - right) <= TOLERANCE * max(1, abs(left), abs(right))
    return left == right


def same_row(left, right):
    return len(left) == len(right) and all(map(same_value, left, right))


def same_rows(left, right):
    if len(left) != len(right):
        return False
    if all(map(same_row, left, right)):
        return True
    return all(map(same_row, sorted(left, key=rough), sorted(right, key=rough)))


def is_part(few, all_):
    found = collections.Counter(rough(row) for row in all_)
    found.subtract(rough(row) for row in few)
    return min(found.values(), default=0) >= 0


def outcome(sql, theirs, run):
    """`equal`, `ties`, or `different` or `refused` with what is to be said of it. `theirs` are the other engine's
    rows without the last LIMIT, and as the query is."""
    whole, limited = theirs
    try:
        ours = rows_of(run, unlimited(sql))
        if not same_rows(whole, ours):
            return "different", f"{len(whole)} rows of DuckDB, {len(ours)} here; {first_difference(whole, ours)}"
        cut = rows_of(run, sql)
    except wire.Refused as refused:
        return "refused", str(refused)
    return of_limited(limited, cut, ours)


def of_limited(limited, cut, whole):
    """The outcome of the query as it is, whose rows must be among those of the whole result."""
    if same_rows(limited, cut):
        return "equal", ""
    if len(limited) == len(cut) and is_part(cut, whole):
        return "ties", ""
    return "different", f"with LIMIT: {first_difference(limited, cut)}"


def first_difference(left, right):
    left, right = sorted(left, key=rough), sorted(right, key=rough)
    for a, b in zip(left, right):
        if not same_row(a, b):
            return f"DuckDB {[str(v) for v in a]}, here {[str(v) for v in b]}"
    more = (left if len(left) > len(right) else right)[min(len(left), len(right))]
    return f"only {'DuckDB' if len(left) > len(right) else 'here'} {[str(v) for v in more]}"
