"""Queries as trees: what the generator grows, what is written as SQL, and what the shrinker cuts down.

Every node names its children in `fields`, so that a shrinker can walk, copy and replace them without knowing what
they mean. Two things are computed only when a tree is written, and so stay right while it shrinks: the position of an
output in ORDER BY, and the total order of a window (all columns that its query sees).
"""

import contextlib


class Node:
    fields = ()

    def children(self):
        """Each child with its place: the name of the field, and the place in the list if it is one."""
        for field in self.fields:
            value = getattr(self, field)
            if isinstance(value, list):
                yield from ((field, at, child) for at, child in enumerate(value) if isinstance(child, Node))
            elif isinstance(value, Node):
                yield field, None, value

    def walk(self):
        yield self
        for _, _, child in self.children():
            yield from child.walk()


class Writer:
    """Writes a tree. `style` is how constants are written: `literal`, or as parameters `declared` or `undeclared`."""

    def __init__(self, style="literal"):
        self.style, self.parameters, self.selects = style, [], []

    @contextlib.contextmanager
    def inside(self, select):
        self.selects.append(select)
        yield
        self.selects.pop()

    def parameter(self, constant):
        self.parameters.append((constant.type, constant.value))
        number = f"${len(self.parameters)}"
        cast = self.style == "undeclared" and constant.cast
        return f"{number}::{NAMES[constant.type]}" if cast else number

    def all(self, nodes, between=", "):
        return between.join(self.one(node) for node in nodes)

    def one(self, node):
        return node if isinstance(node, str) else node.sql(self)


NAMES = {
    "int2": "smallint", "int4": "int", "int8": "bigint", "num": "numeric", "flt": "double precision", "text": "text",
    "bool": "boolean", "date": "date", "ts": "timestamp", "tz": "timestamptz",
}


# Expressions


class Expr(Node):
    """An expression of a type: texts and nodes one after another."""

    fields = ("parts",)

    def __init__(self, type, *parts):
        self.type, self.parts = type, list(parts)

    def sql(self, w):
        return "".join(w.one(part) for part in self.parts)


class Column(Node):
    def __init__(self, type, alias, name):
        self.type, self.alias, self.name = type, alias, name

    def sql(self, _):
        return f"{self.alias}.{self.name}" if self.alias else self.name


class Const(Node):
    """A constant: `value` is its text, None is null. It may become a parameter when the query is prepared."""

    def __init__(self, type, value, bare=True, may_be_parameter=False, cast=False):
        self.type, self.value, self.bare = type, value, bare
        self.may_be_parameter, self.cast = may_be_parameter, cast

    def sql(self, w):
        if w.style != "literal" and self.may_be_parameter:
            return w.parameter(self)
        return literal(self.type, self.value, self.bare)


def literal(type, value, bare=True):
    if value is None:
        return "null" if bare else f"null::{NAMES[type]}"
    if type in ("int4", "num", "bool"):
        return value if bare else f"{value}::{NAMES[type]}"
    if type in ("int2", "int8", "flt"):
        return f"{value}::{NAMES[type]}"
    quoted = "'" + value.replace("'", "''") + "'"
    return quoted if bare and type == "text" else f"{NAMES[type]} {quoted}"


class Over(Node):
    """A function with its window: inline, a named one, or a named one with a frame of its own."""

    fields = ("call", "window")

    def __init__(self, type, call, window, name=None):
        self.type, self.call, self.window, self.name = type, call, window, name

    def sql(self, w):
        if self.name and not self.window:
            return f"{self.call.sql(w)} over {self.name}"
        inside = self.window.sql(w) if self.window else ""
        return f"{self.call.sql(w)} over ({' '.join(part for part in (self.name or '', inside) if part)})"


class Window(Node):
    """What stands in the parentheses of a window. A total one ends its order with all that its query sees."""

    fields = ("partition", "order")

    def __init__(self, partition, order, frame="", total=False):
        self.partition, self.order, self.frame, self.total = partition, order, frame, total

    def sql(self, w):
        order = [key.sql(w) for key in self.order]
        order += w.selects[-1].visible() if self.total else []
        parts = [f"partition by {w.all(self.partition)}"] if self.partition else []
        parts += [f"order by {', '.join(order)}"] if order else []
        return " ".join(parts + ([self.frame] if self.frame else []))


class Key(Node):
    """A key of an order that is an expression."""

    fields = ("expr",)

    def __init__(self, expr, direction=""):
        self.expr, self.direction = expr, direction

    def sql(self, w):
        return self.expr.sql(w) + self.direction


# What stands in FROM


class Table(Node):
    def __init__(self, name, alias, columns):
        self.name, self.alias, self.held = name, alias, columns

    def columns(self):
        return [(self.alias, name, type) for name, type in self.held]

    def sql(self, _):
        return f"{self.name} {self.alias}"


class Derived(Node):
    fields = ("query",)

    def __init__(self, query, alias, lateral=False):
        self.query, self.alias, self.lateral = query, alias, lateral

    def columns(self):
        return [(self.alias, name, type) for name, type in self.query.signature()]

    def sql(self, w):
        names = f"({', '.join(name for name, _ in self.query.signature())})" if isinstance(self.query, Values) else ""
        return f"{'lateral ' if self.lateral else ''}({self.query.sql(w)}) {self.alias}{names}"


class Series(Node):
    fields = ("last",)

    def __init__(self, alias, last):
        self.alias, self.last = alias, last

    def columns(self):
        return [(self.alias, "v", "int4")]

    def sql(self, w):
        return f"generate_series(1, {self.last.sql(w)}) {self.alias}(v)"


class Join(Node):
    """`on` holds conditions; without any, and no `using`, an inner join is a cross join."""

    fields = ("left", "right", "on")

    def __init__(self, kind, left, right, on=(), using=(), natural=False):
        self.kind, self.left, self.right, self.on = kind, left, right, list(on)
        self.using, self.natural = list(using), natural

    def columns(self):
        merged = [(None, name, type) for _, name, type in self.left.columns() if name in self.using and not self.natural]
        return self.left.columns() + self.right.columns() + merged

    def sql(self, w):
        right = self.right.sql(w)
        right = f"({right})" if isinstance(self.right, Join) else right
        if self.kind == "comma":
            return f"{self.left.sql(w)}, {right}"
        if self.natural:
            return f"{self.left.sql(w)} natural {self.kind} {right}"
        if self.using:
            return f"{self.left.sql(w)} {self.kind} {right} using ({', '.join(self.using)})"
        if not self.on and self.kind == "join":
            return f"{self.left.sql(w)} cross join {right}"
        return f"{self.left.sql(w)} {self.kind} {right} on {w.all(self.on, ' and ') or 'true'}"


# Queries


class Output(Node):
    fields = ("expr",)

    def __init__(self, expr, name):
        self.expr, self.name = expr, name

    def sql(self, w):
        # A column has its name by itself.
        is_bare = isinstance(self.expr, Column) and self.expr.name == self.name and self.expr.alias
        return self.expr.sql(w) if is_bare else f"{self.expr.sql(w)} as {self.name}"


class Order(Node):
    """ORDER BY: expressions, then outputs by their place, or by their names where they are `named`. What has a LIMIT or an OFFSET is ordered by every output.
    Both are numbers or constants, which may become parameters."""

    fields = ("keys", "limit", "offset")

    def __init__(self, directions, keys=(), limit=None, offset=None, total=False, named=False):
        self.directions, self.keys, self.limit, self.offset = dict(directions), list(keys), limit, offset
        self.total, self.named = total, named

    def is_total(self):
        return self.total or self.limit is not None or self.offset is not None

    def places(self, names):
        """The places of the outputs in the order, each with its direction."""
        found = [(names.index(name), how) for name, how in self.directions.items() if name in names]
        rest = [(at, "") for at in range(len(names)) if at not in {at for at, _ in found}]
        return found + (rest if self.is_total() else [])

    def sql(self, w, names):
        place = lambda at: names[at] if self.named else at + 1
        keys = [key.sql(w) for key in self.keys] + [f"{place(at)}{how}" for at, how in self.places(names)]
        text = f" order by {', '.join(keys)}" if keys else ""
        count = lambda value: w.one(value) if isinstance(value, Node) else str(value)
        text += f" limit {count(self.limit)}" if self.limit is not None else ""
        return text + (f" offset {count(self.offset)}" if self.offset is not None else "")


class Grouping(Node):
    """One element of GROUP BY: `kind` is empty, `rollup`, `cube` or `grouping sets`; sets are lists of keys. With
    `pair` the first two keys of a `rollup` or `cube` are one."""

    fields = ("keys",)

    def __init__(self, kind, keys, sets=None, pair=False):
        self.kind, self.keys, self.sets, self.pair = kind, list(keys), sets, pair

    def sql(self, w):
        keys = [w.one(key) for key in self.keys]
        if self.pair and len(keys) > 1:
            keys[:2] = [f"({keys[0]}, {keys[1]})"]
        if self.kind == "grouping sets":
            sets = [", ".join(keys[at] for at in one if at < len(keys)) for one in self.sets]
            return f"grouping sets ({', '.join(f'({one})' for one in sets)})"
        return f"{self.kind}({', '.join(keys)})" if self.kind else ", ".join(keys)


class Cte(Node):
    fields = ("query",)

    def __init__(self, name, query, how=""):
        self.name, self.query, self.how = name, query, how

    def sql(self, w):
        names = f"({', '.join(name for name, _ in self.query.signature())})"
        return f"{self.name}{names} as {self.how}({self.query.sql(w)})"


class Recursive(Cte):
    """A query of WITH RECURSIVE. What is cut out of it might never end: it stays whole."""

    fields = ()


class Select(Node):
    fields = ("ctes", "on", "outputs", "source", "where", "group", "having", "windows", "order")

    def __init__(self, outputs, source=None, where=(), group=(), having=(), order=None, distinct="", on=(), ctes=()):
        self.ctes, self.outputs, self.source, self.where = list(ctes), list(outputs), source, list(where)
        self.group, self.having, self.windows = list(group), list(having), []
        self.order, self.distinct, self.on = order, distinct, list(on)

    def signature(self):
        return [(output.name, output.expr.type) for output in self.outputs]

    def visible(self):
        """All that a window of this query may be ordered by, as texts."""
        if self.group:
            keys = [key for element in self.group for key in element.keys]
            return [Writer().one(key) for key in keys]
        columns = self.source.columns() if self.source else []
        return [f"{alias}.{name}" for alias, name, _ in columns if alias]

    def sql(self, w):
        with w.inside(self):
            recursive = "recursive " if any(isinstance(cte, Recursive) for cte in self.ctes) else ""
            text = f"with {recursive}{w.all(self.ctes)} " if self.ctes else ""
            text += f"select {self.distinct} " if self.distinct else "select "
            text += f"distinct on ({w.all(self.on)}) " if self.on else ""
            text += w.all(self.outputs)
            text += f" from {self.source.sql(w)}" if self.source else ""
            text += f" where {w.all(self.where, ' and ')}" if self.where else ""
            text += f" group by {w.all(self.group)}" if self.group else ""
            text += f" having {w.all(self.having, ' and ')}" if self.having else ""
            text += f" window {w.all(self.windows)}" if self.windows else ""
            return text + (self.order.sql(w, [name for name, _ in self.signature()]) if self.order else "")


class Named(Node):
    """A window with a name, of WINDOW."""

    fields = ("window",)

    def __init__(self, name, window):
        self.name, self.window = name, window

    def sql(self, w):
        return f"{self.name} as ({self.window.sql(w)})"


class Union(Node):
    """A set operation."""

    fields = ("left", "right", "order")

    def __init__(self, kind, left, right, order=None):
        self.kind, self.left, self.right, self.order = kind, left, right, order

    def signature(self):
        return self.left.signature()

    def sql(self, w):
        left, right = (f"({side.sql(w)})" for side in (self.left, self.right))
        order = self.order.sql(w, [name for name, _ in self.signature()]) if self.order else ""
        return f"{left} {self.kind} {right}{order}"


class Values(Node):
    """VALUES; only the constants of the first row say their types, where `cast` does not say otherwise."""

    fields = ("cells",)

    def __init__(self, types, cells):
        self.types, self.cells = types, cells

    def signature(self):
        return [(f"o{at}", type) for at, type in enumerate(self.types)]

    def sql(self, w):
        width, texts = len(self.types), [w.one(cell) for cell in self.cells]
        rows = [texts[at : at + width] for at in range(0, len(texts), width)]
        return "values " + ", ".join(f"({', '.join(row)})" for row in rows)
