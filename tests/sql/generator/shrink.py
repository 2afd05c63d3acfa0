"""Makes a tree as small as it can be while it still shows what it showed: cuts it in place, asks, and undoes."""

from . import tables
from .tree import (Column, Const, Derived, Expr, Grouping, Join, Order, Output, Over, Select, Series, Table, Union,
                   Values, Window)

DEFAULTS = {"int2": ["1"], "int4": ["1"], "int8": ["1"], "num": ["1"], "flt": ["1"], "text": ["a"], "bool": ["true", "false"],
            "date": ["2020-01-01"], "ts": ["2020-07-01 12:00:00"], "tz": ["2020-07-01 12:00:00+00"]}
QUERIES = (Select, Union, Values)
EXPRESSIONS = (Expr, Over)


class Root:
    """What holds the tree, so that the whole query can be replaced as any part of it."""

    def __init__(self, tree):
        self.tree = tree


def shrink(tree, interesting, most=600):
    """The smallest tree found within so many questions."""
    root, asked, progress = Root(tree), 0, not getattr(tree, "is_fixed", False)
    while progress:
        progress = False
        for change, undo in moves(root):
            if asked >= most:
                return root.tree
            change()
            asked += 1
            try:
                kept = interesting(root.tree)
            except (IndexError, ValueError, AttributeError, RecursionError):
                kept = False
            if kept:
                progress = True
                break
            undo()
    return root.tree


def replaced(holder, field, at, new):
    """A change that puts `new` in a place, and its undoing."""
    old = getattr(holder, field) if at is None else getattr(holder, field)[at]

    def put(value):
        if at is None:
            setattr(holder, field, value)
        else:
            getattr(holder, field)[at] = value

    return lambda: put(new), lambda: put(old)


def without(holder, field, at):
    """A change that takes an element out of a list, and its undoing."""
    old = list(getattr(holder, field))
    return lambda: setattr(holder, field, old[:at] + old[at + 1 :]), lambda: setattr(holder, field, old)


def moves(root):
    """All changes, those that cut most first."""
    places = list(located(root))
    for _, _, _, node in places[1:]:
        if isinstance(node, QUERIES):
            yield replaced(root, "tree", None, node)
    for holder, field, at, node in places:
        yield from whole(holder, field, at, node)
    for holder, field, at, node in places:
        if isinstance(node, EXPRESSIONS):
            yield from smaller(holder, field, at, node)
    for _, _, _, node in places:
        yield from simpler(node)


def located(root):
    """Every node with its place, the outer before the inner."""
    pending = [(root, "tree", None, root.tree)]
    while pending:
        place = pending.pop(0)
        yield place
        pending += [(place[3], field, at, child) for field, at, child in place[3].children()]


def whole(holder, field, at, node):
    """Clauses, branches, rows."""
    if isinstance(node, Union):
        yield replaced(holder, field, at, node.left)
        yield replaced(holder, field, at, node.right)
    if isinstance(node, Join):
        yield replaced(holder, field, at, node.left)
        yield replaced(holder, field, at, node.right)
    if isinstance(node, Select):
        for name in ("ctes", "where", "having", "group", "windows", "outputs"):
            held = getattr(node, name)
            yield from (without(node, name, i) for i in range(len(held)) if name != "outputs" or len(held) > 1)
        if node.source:
            yield replaced(node, "source", None, None)
    if isinstance(node, (Select, Union)) and node.order and not getattr(node, "on", None):
        yield replaced(node, "order", None, None)
    if isinstance(node, Values):
        width, old = len(node.types), node.cells
        for i in range(0, len(old), width):
            if len(old) > width:
                yield (lambda i=i: setattr(node, "cells", old[:i] + old[i + width :])), (lambda: setattr(node, "cells", old))


def smaller(holder, field, at, node):
    """An expression by one in it, or by a constant."""
    within = [child for child in node.walk() if child is not node and getattr(child, "type", None) == node.type
              and isinstance(child, (Expr, Over, Column, Const))]
    for child in within[:12]:
        yield replaced(holder, field, at, child)
    for value in DEFAULTS[node.type]:
        yield replaced(holder, field, at, Const(node.type, value, True))
    yield replaced(holder, field, at, Const(node.type, None, False))


def simpler(node):
    """Attributes, and what is left of lists."""
    if isinstance(node, Join):
        yield from (without(node, "on", i) for i in range(len(node.on)))
        for kind in ("join", "left join"):
            if node.kind not in ("join", "comma", kind):
                yield replaced(node, "kind", None, kind)
    if isinstance(node, Select):
        if node.distinct:
            yield replaced(node, "distinct", None, "")
        yield from (without(node, "on", i) for i in range(len(node.on)))
    if isinstance(node, Order):
        yield from simpler_order(node)
    if isinstance(node, Window):
        yield from (without(node, "partition", i) for i in range(len(node.partition)))
        yield from (without(node, "order", i) for i in range(len(node.order)))
        if node.frame:
            yield replaced(node, "frame", None, "")
    if isinstance(node, Grouping):
        yield from simpler_grouping(node)
    if isinstance(node, Derived) and node.lateral:
        yield replaced(node, "lateral", None, False)
    if isinstance(node, Const) and node.may_be_parameter:
        yield replaced(node, "may_be_parameter", None, False)
    if isinstance(node, Const) and node.value not in (None, *DEFAULTS[node.type]):
        yield replaced(node, "value", None, DEFAULTS[node.type][0])
    if isinstance(node, Union) and node.kind != "union all":
        yield replaced(node, "kind", None, "union all")


def simpler_order(node):
    if node.offset is not None:
        yield replaced(node, "offset", None, None)
    if node.limit is not None and not node.total:
        yield replaced(node, "limit", None, None)
    yield from (without(node, "keys", i) for i in range(0 if node.total else len(node.keys)))
    for name, how in node.directions.items():
        fewer = {other: direction for other, direction in node.directions.items() if other != name}
        yield replaced(node, "directions", None, fewer)
        if how:
            yield replaced(node, "directions", None, {**node.directions, name: ""})


def simpler_grouping(node):
    if node.kind == "grouping sets":
        yield from (without(node, "sets", i) for i in range(len(node.sets)))
        return
    yield from (without(node, "keys", i) for i in range(len(node.keys)) if len(node.keys) > 1)
    if node.pair:
        yield replaced(node, "pair", None, False)
    for kind in ("", "rollup"):
        if node.kind not in ("", kind):
            yield replaced(node, "kind", None, kind)


def shrink_rows(data, interesting):
    """Fewer rows of the tables: none of a table, then half, then one less."""
    for table in data:
        share = len(data[table])
        while share >= 1 and data[table]:
            at = 0
            while at < len(data[table]):
                fewer = {**data, table: data[table][:at] + data[table][at + share :]}
                if interesting(fewer):
                    data = fewer
                else:
                    at += share
            share = share // 2 if share > 1 else 0
    return data
