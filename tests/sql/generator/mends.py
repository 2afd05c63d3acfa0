"""What `compose.py --find` looks for: defects that were mended once, each told by what is left of a query cut down.

Against a binary without a mend, the generator must meet its defect again; the texts are for people.
"""

import re

from .tree import Const, Expr

AGGREGATE = r"\b(count|sum|min|max|avg|bool_and|bool_or|string_agg)\("
OUTER = r"\b(left|right|full) join\b"
MENDS = {
    "sort keys": "ORDER BY loses keys behind a key, above joins, groups, DISTINCT and set operations",
    "grouping sets": "a filter above ROLLUP, CUBE or GROUPING SETS, or HAVING, lets the row of the empty set through",
    "ungrouped": "a filter above an aggregate without groups is pushed below it",
    "not in": "a constant NOT IN (SELECT ..) forgets nulls",
    "exists": "EXISTS with an outer join inside, correlated on its nullable side",
    "window frame": "OVER (w frame) loses the PARTITION BY and ORDER BY of w",
    "lateral having": "a LATERAL aggregate with HAVING gives a row of nulls instead of none",
    "timestamptz parameter": "a declared timestamptz parameter is off by the offset of the session's time zone",
    "untyped null": "a null of no type is an empty text in binary results",
    "with twice": "a WITH query that is named twice is computed twice",
    "values": "VALUES with a cast and literals are bigint",
}


def shown(finding):
    """The names of the mends whose defect a finding is."""
    sql, kind = finding.query.sql, finding.verdict.kind
    has = lambda pattern: re.search(pattern, sql) is not None
    rows = kind in ("rows", "order")
    grouped, filtered = has(r"group by"), has(r"\b(where|having)\b|\bon\b")
    tests = {
        "sort keys": rows and has(r"order by .*,") and (grouped or has(r"distinct|except|intersect")),
        "grouping sets": rows and has(r"rollup|cube|grouping sets") and filtered,
        "ungrouped": rows and not grouped and has(AGGREGATE) and filtered and not has(rf" over |lateral| in \(select|random|{OUTER}"),
        "with twice": rows and has("random"),
        "not in": rows and any(map(is_constant_not_in, finding.tree.walk())),
        "exists": rows and has(r"exists \(select") and has(OUTER),
        "window frame": rows and has(r"over \(w\d+ (rows|range|groups)"),
        "lateral having": rows and has(r"lateral \(select") and has(r"\bhaving\b"),
        "timestamptz parameter": rows and finding.query.style == "declared" and "tz" in dict(finding.query.parameters),
        "untyped null": kind == "rows" and finding.query.binary_results and has(r"\bnull\b|\$1") and lost_null(finding),
        "values": kind == "types" and has(r"values \("),
    }
    return [name for name, holds in tests.items() if holds]


def is_constant_not_in(node):
    """Whether an expression is a constant beside a subquery, with NOT IN or what means the same."""
    parts = node.parts if isinstance(node, Expr) else []
    return len(parts) > 3 and isinstance(parts[1], Const) and parts[2] in (" not in (", " <> all (", " in (")


def lost_null(finding):
    """Whether PostgreSQL has nulls where this engine has empty texts."""
    theirs, ours = finding.answers.get("PostgreSQL"), finding.answers.get(finding.verdict.mode)
    cells = lambda answer: [cell for row in (answer and answer.rows or []) for cell in row]
    return None in cells(theirs) and "" in cells(ours)
