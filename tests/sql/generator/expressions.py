"""Random expressions of a wanted type over what a query sees, with subqueries in them at every depth."""

import re

from .tables import text
from .tree import Column, Const, Expr, Key, Named, Order, Over, Select, Window

TYPES = ["int2", "int4", "int8", "num", "flt", "text", "bool", "date", "ts", "tz"]
COMMON = ["int4"] * 6 + ["text"] * 3 + ["int8", "num", "flt", "bool", "date", "ts", "tz", "tz", "int2"]
NUMBERS = ["int2", "int4", "int8", "num", "flt"]


class Scope:
    """What an expression may name: columns, those of the queries around (`outer`), aggregates over `grouped`, the
    expressions that are `keys` of its groups; `sets` are the keys if grouping sets make some of them null."""

    def __init__(self, columns, outer=None, grouped=None, keys=(), windows=None, sets=()):
        self.columns, self.outer, self.grouped = columns, outer, grouped
        self.keys, self.windows, self.sets = keys, windows, sets
        # The one total order of its windows.
        self.total = None

    def without_windows(self):
        return Scope(self.columns, self.outer, self.grouped, self.keys, None, self.sets)

    def around(self):
        """This scope as one that a subquery sees: neither aggregates nor windows of it."""
        return Scope(self.columns, self.outer, keys=self.keys)


class Expressions:
    """Grows expressions. `fuel` is what is left to spend on parts of the query."""

    def __init__(self, rng):
        self.rng, self.fuel = rng, 0

    def pick(self, *options):
        return self.rng.choice(options)

    def chance(self, share):
        return self.rng.random() < share

    def expr(self, type, scope, d):
        """An expression of a type, at most `d` subqueries deep."""
        self.fuel -= 1
        if self.fuel <= 0 or self.chance(0.45):
            return self.leaf(type, scope)
        if scope.grouped is not None and self.chance(0.4):
            return self.aggregate(type, scope.grouped, d) or self.leaf(type, scope)
        if scope.windows is not None and self.chance(0.4 if scope.outer else 0.25):
            return self.windowed(type, scope, d) or self.leaf(type, scope)
        if d > 0 and self.chance(0.2):
            return self.scalar(type, scope, d)
        if self.chance(0.3):
            return self.general(type, scope, d)
        return getattr(self, type)(lambda wanted: self.expr(wanted, scope, d))

    def leaf(self, type, scope):
        if scope.sets and type == "int4" and self.chance(0.3):
            return Expr("int4", "grouping(", self.rng.choice(scope.sets), ")")
        found = self.column(type, scope)
        if found and not self.chance(0.07):
            return found
        # Of a type that no column has: something computed, rather than one constant more.
        if not found and self.chance(0.85):
            return getattr(self, type)(lambda wanted: self.column(wanted, scope) or self.constant(wanted))
        return self.constant(type)

    def column(self, type, scope):
        """A column, mostly of this query, at times of one around it; None if there is none of the type."""
        level = scope
        while level.outer and (self.chance(0.25) or not level.columns):
            level = level.outer
        found = [Column(t, a, n) for a, n, t in level.columns if t == type]
        # Keys are what planners draw conclusions from.
        found += [column for column in found if column.name in ("id", "i")]
        found += [key for key in level.keys if key.type == type]
        if found:
            return self.rng.choice(found)
        return self.column(type, level.outer) if level.outer else None

    def constant(self, type, parameter=True):
        value = None if self.chance(0.12) else text(self.rng, type)
        bare = self.chance(0.6 if value else 0.15)
        return Const(type, value, bare, parameter and self.chance(0.6), self.chance(0.5))

    def general(self, type, scope, d):
        x, y = self.expr(type, scope, d), self.expr(type, scope, d)
        condition = lambda: self.expr("bool", scope, d)
        choice = self.pick("coalesce", "case", "nullif", "greatest", "simple case")
        if choice == "case":
            return Expr(type, "case when ", condition(), " then ", x, " else ", y, " end")
        if choice == "simple case":
            return Expr(type, "case ", self.expr("int4", scope, 0), " when ", self.constant("int4"), " then ", x, " end")
        if choice == "greatest" and type != "bool":
            return Expr(type, self.pick("greatest(", "least("), x, ", ", y, ")")
        return Expr(type, "nullif(" if choice == "nullif" else "coalesce(", x, ", ", y, ")")

    def int2(self, of):
        return Expr("int2", "(", of("int2"), self.pick(" % ", " + "), "2::smallint)")

    def int4(self, of):
        x = of("int4")
        return self.pick(
            lambda: Expr("int4", "(", x, self.pick(" + ", " - "), of("int4"), ")"), lambda: Expr("int4", "abs(", x, ")"),
            lambda: Expr("int4", "(", x, self.pick(" % 3", " / 2", " * 2"), ")"), lambda: Expr("int4", "(- ", x, ")"),
            lambda: Expr("int4", "length(", of("text"), ")"), lambda: Expr("int4", "(", of("date"), " - ", of("date"), ")"),
            lambda: Expr("int4", "(", of("bool"), ")::int"), lambda: Expr("int4", "(", of("int2"), ")::int"),
        )()

    def int8(self, of):
        return self.pick(lambda: Expr("int8", "(", of("int4"), ")::bigint"),
                         lambda: Expr("int8", "(", of("int8"), " + ", of("int4"), ")"))()

    def num(self, of):
        return self.pick(
            lambda: Expr("num", "(", of("num"), self.pick(" + ", " - ", " * "), of("num"), ")"),
            lambda: Expr("num", "round(", of("num"), ", 1)"), lambda: Expr("num", "(", of("int4"), ")::numeric"),
            lambda: Expr("num", "extract(", self.pick("year", "month", "day", "dow"), " from ", of("date"), ")"),
            lambda: Expr("num", "extract(hour from ", of("tz"), ")"),
        )()

    def flt(self, of):
        return self.pick(lambda: Expr("flt", "(", of("flt"), self.pick(" + ", " - "), of("flt"), ")"),
                         lambda: Expr("flt", "(", of("int4"), ")::float8"), lambda: Expr("flt", "abs(", of("flt"), ")"))()

    def text(self, of):
        x = of("text")
        return self.pick(
            lambda: Expr("text", "(", x, " || ", of("text"), ")"),
            lambda: Expr("text", self.pick("upper(", "lower(", "trim(", "reverse("), x, ")"),
            lambda: Expr("text", "substr(", x, ", 2, 1)"), lambda: Expr("text", "left(", x, ", 1)"),
            lambda: Expr("text", "(", of(self.pick("int4", "int8", "bool", "date", "ts", "tz")), ")::text"),
            lambda: Expr("text", "concat(", x, ", ", of("int4"), ")"), lambda: Expr("text", "replace(", x, ", 'a', 'b')"),
            lambda: Expr("text", "(", x, ")::varchar(3)"),
            lambda: Expr("text", "to_char(", of("tz"), ", 'YYYY-MM-DD HH24:MI')"),
        )()

    def date(self, of):
        return self.pick(lambda: Expr("date", "(", of("date"), " + 3)"), lambda: Expr("date", "(", of("ts"), ")::date"),
                         lambda: Expr("date", "(", of("tz"), ")::date"))()

    def ts(self, of):
        zone = self.pick("Europe/Rome", "America/New_York", "UTC")
        return self.pick(lambda: Expr("ts", "(", of("ts"), " + interval '1 day')"), lambda: Expr("ts", "(", of("date"), ")::timestamp"),
                         lambda: Expr("ts", "(", of("tz"), f" at time zone '{zone}')"), lambda: Expr("ts", "(", of("tz"), ")::timestamp"),
                         lambda: Expr("ts", "date_trunc('month', ", of("ts"), ")"))()

    def tz(self, of):
        return self.pick(lambda: Expr("tz", "(", of("tz"), self.pick(" + ", " - "), "interval '1 day 2 hours')"),
                         lambda: Expr("tz", "(", of("ts"), ")::timestamptz"), lambda: Expr("tz", "(", of("date"), ")::timestamptz"),
                         lambda: Expr("tz", "(", of("ts"), " at time zone 'Asia/Kolkata')"),
                         lambda: Expr("tz", "date_trunc('day', ", of("tz"), ")"))()

    def bool(self, of):
        type = self.rng.choice(COMMON)
        x = of(type)
        compare = self.pick(" = ", " = ", " < ", " >= ", " <> ")
        return self.pick(
            lambda: Expr("bool", "(", x, compare, of(type), ")"), lambda: Expr("bool", "(", x, compare, of(type), ")"),
            lambda: Expr("bool", "(", of("bool"), self.pick(" and ", " or "), of("bool"), ")"),
            lambda: Expr("bool", "(not ", of("bool"), ")"), lambda: Expr("bool", "(", x, self.pick(" is null", " is not null"), ")"),
            lambda: Expr("bool", "(", x, self.pick(" is distinct from ", " is not distinct from "), of(type), ")"),
            lambda: Expr("bool", "(", x, " between ", of(type), " and ", of(type), ")"),
            lambda: Expr("bool", "(", x, self.pick(" in (", " not in ("), of(type), ", ", self.constant(type), "))"),
            lambda: Expr("bool", "(", of("text"), self.pick(" like ", " not like "), f"'{self.pick('a%', '%b', '_', '%')}')"),
            lambda: Expr("bool", "((", of("bool"), ")", self.pick(" is true", " is not true", " is unknown"), ")"),
            lambda: Expr("bool", "(", x, compare, "any (array[", of(type), ", ", self.constant(type), "]))"),
        )()

    # Subqueries

    def scalar(self, type, scope, d):
        """A subquery where a value may stand; conditions have more kinds of it."""
        if type == "bool" and self.chance(0.85):
            if self.chance(0.18):
                return self.row_membership(scope, d) if self.chance(0.6) else self.rows_compared(scope, d)
            return self.existence(scope, d) if self.chance(0.45) else self.membership(scope, d)
        if type == "text" and self.chance(0.1):
            return self.array_of(scope, d)
        return Expr(type, "(", self.single(type, scope, d), ")")

    def existence(self, scope, d):
        query = self.correlated(self.query(["int4"], scope.around(), d - 1), scope)
        if self.chance(0.5):
            return Expr("bool", "exists (", query, ")")
        return Expr("bool", "(not exists (", query, "))")

    def membership(self, scope, d):
        type = self.pick("int4", "int4", "int4", "text", "tz")
        # A constant on the left takes another way through planners than a column.
        left = self.constant(type) if self.chance(0.3) else self.expr(type, scope, 0)
        query = self.query([type], scope.around(), d - 1)
        query = self.correlated(query, scope) if self.chance(0.3) else query
        how = self.pick(" in (", " not in (", " not in (", " = any (", " < any (", " <> all (", " >= all (")
        negated = self.chance(0.15)
        return Expr("bool", "(not (" if negated else "(", left, how, query, "))" + (")" if negated else ""))

    def single(self, type, scope, d):
        """A subquery of at most one row."""
        around = scope.around()
        if self.chance(0.5):
            return self.correlated(self.aggregated([type], around, d - 1), scope)
        query = self.query([type], around, d - 1)
        query.order = Order({"o0": self.direction()}, limit=1)
        return query

    def row_membership(self, scope, d):
        """Rows of two values beside those of a subquery."""
        types = [self.pick("int4", "int4", "text", "tz") for _ in range(2)]
        query = self.query(types, scope.around(), d - 1)
        query = self.correlated(query, scope) if self.chance(0.3) else query
        x, y = (self.expr(type, scope, 0) for type in types)
        return Expr("bool", "((", x, ", ", y, ")", self.pick(" in (", " not in (", " = any (", " <> all ("), query, "))")

    def rows_compared(self, scope, d):
        types = [self.pick("int4", "int4", "text", "date") for _ in range(2)]
        (a, b), (x, y) = ([self.expr(type, scope, 0) for type in types] for _ in range(2))
        how = self.pick(" = ", " <> ", " < ", " >= ", " is distinct from ", " is not distinct from ")
        return Expr("bool", "((", a, ", ", b, ")", how, "(", x, ", ", y, "))")

    def array_of(self, scope, d):
        """The rows of a subquery in one value."""
        query = self.query([self.pick("int4", "text")], scope.around(), d - 1)
        query = self.correlated(query, scope) if self.chance(0.5) else query
        if not getattr(query, "on", None):
            query.order = Order({"o0": self.direction()}, total=True)
        return Expr("text", "array_to_string(array(", query, "), ',', '-')")

    def correlated(self, query, scope):
        """A subquery with a condition, mostly, that ties a column of its own to one of a query around it."""
        outer = [column for level in (scope, scope.outer) if level for column in level.columns]
        inner = query.source.columns() if isinstance(query, Select) and query.source else []
        pairs = [(Column(t, a, n), Column(t, b, m)) for a, n, t in inner for b, m, s in outer if s == t]
        if pairs and self.chance(0.7):
            x, y = self.rng.choice(pairs)
            query.where.append(Expr("bool", x, self.pick(" = ", " = ", " = ", " < ", " is not distinct from "), y))
        return query

    # Aggregates and windows

    def aggregate_call(self, type, scope, d, plain=False):
        """A call of an aggregate function that gives the type, or None."""
        of = lambda wanted: self.expr(wanted, scope, d)
        distinct = "" if plain or not self.chance(0.2) else "distinct "
        least = lambda: Expr(type, self.pick("min(", "max("), of(type), ")")
        return {
            "int8": lambda: self.pick(lambda: Expr("int8", "count(*)"), lambda: Expr("int8", f"sum({distinct}", of("int4"), ")"),
                                      lambda: Expr("int8", f"count({distinct}", of(self.rng.choice(COMMON)), ")"))(),
            "num": lambda: self.pick(lambda: Expr("num", f"avg({distinct}", of("int4"), ")"), least,
                                     lambda: Expr("num", "sum(", of(self.pick("num", "int8")), ")"))(),
            "flt": lambda: self.pick(least, lambda: Expr("flt", "sum(", of("flt"), ")"), lambda: least() if plain else Expr(
                "flt", "percentile_cont(0.5) within group (order by ", of("flt"), ")"))(),
            "bool": lambda: Expr("bool", self.pick("bool_and(", "bool_or("), of("bool"), ")"),
            "text": lambda: least() if plain or self.chance(0.7) else self.gathered(of("text")),
        }.get(type, least)()

    def gathered(self, value):
        distinct = self.pick("", "", "distinct ")
        if self.chance(0.3):
            return Expr("text", f"array_to_string(array_agg({distinct}", value, " order by ", value, "), ',', '-')")
        return Expr("text", f"string_agg({distinct}", value, ", ',' order by ", value, ")")

    def aggregate(self, type, scope, d):
        call = self.aggregate_call(type, scope, min(d, 1))
        if self.chance(0.12) and not call.parts[0].startswith(("string_agg", "array_to_string")):
            return Expr(type, call, " filter (where ", self.expr("bool", scope, min(d, self.pick(0, 1))), ")")
        return call

    def windowed(self, type, scope, d):
        """A window function; those that tell equal rows apart get a total order."""
        inner = scope.without_windows()
        of = lambda wanted: self.expr(wanted, inner, 0)
        ranked = type == "int8" and self.chance(0.5)
        shifted = not ranked and self.chance(0.4)
        if ranked and self.chance(0.5):
            return self.over(type, Expr("int8", self.pick("rank()", "dense_rank()")), inner, scope, False, frames=False)
        if type == "flt" and self.chance(0.3):
            return self.over(type, Expr("flt", self.pick("percent_rank()", "cume_dist()")), inner, scope, False, frames=False)
        if scope.sets and (ranked or shifted):
            return None
        if ranked:
            return self.over(type, Expr("int8", "row_number()"), inner, scope, True, frames=False)
        if shifted:
            call = self.pick(
                lambda: Expr(type, self.pick("lag(", "lead("), of(type), ")"), lambda: Expr(type, "lag(", of(type), ", 2, ", of(type), ")"),
                lambda: Expr(type, self.pick("first_value(", "last_value("), of(type), ")"), lambda: Expr(type, "nth_value(", of(type), ", 2)"))()
            return self.over(type, call, inner, scope, True, frames=not call.parts[0].startswith(("lag", "lead")))
        call = self.aggregate_call(type, inner, self.pick(0, 0, 0, min(d, 1)), plain=True)
        if self.chance(0.08):
            call = Expr(type, call, " filter (where ", self.expr("bool", inner, 0), ")")
        return self.over(type, call, inner, scope, self.chance(0.5) and not scope.sets, frames=True)

    def over(self, type, call, inner, scope, total, frames):
        named = [one for one in scope.windows if one.window.total == total or one.window.total]
        if named and self.chance(0.6):
            base = self.rng.choice(named)
            frame = self.frame(base.window.total) if frames and self.chance(0.6) else ""
            return Over(type, call, Window([], [], frame) if frame else None, base.name)
        if self.chance(0.3):
            base = self.name_window(scope, inner, total)
            frame = self.frame(total) if frames and self.chance(0.7) else ""
            return Over(type, call, Window([], [], frame) if frame else None, base.name)
        return Over(type, call, self.window_of(scope, inner, total, frames))

    def name_window(self, scope, inner, total):
        """A new window of WINDOW; without a frame, mostly, so that others may build on it."""
        window = self.window_of(scope, inner, total, frames=self.chance(0.2))
        scope.windows.append(Named(f"w{len(scope.windows)}", window))
        return scope.windows[-1]

    def window_of(self, scope, inner, total, frames):
        """A window. Two total orders would tell rows apart that are equal: one order is for all of a query."""
        if not total:
            return self.window(inner, False, frames)
        scope.total = scope.total or self.window(inner, True, False)
        frame = self.frame(True, bool(scope.total.order)) if frames and self.chance(0.6) else ""
        return Window(scope.total.partition, scope.total.order, frame, True)

    def window(self, scope, total, frames):
        of = lambda: self.column(self.rng.choice(COMMON), scope)
        partition = [column for column in [of()] if column and self.chance(0.6)]
        if partition and self.chance(0.1):
            partition = [self.expr(partition[0].type, scope, 0)]
        order = [Key(column, self.direction()) for column in [of() for _ in range(self.rng.randint(0, 2))] if column]
        if not total and frames and self.chance(0.4) and (offset := self.offset_window(scope, partition)):
            return offset
        frame = self.frame(total, bool(order)) if frames and self.chance(0.6) else ""
        return Window(partition, order, frame, total)

    def offset_window(self, scope, partition):
        """A RANGE frame with offsets: one key, a number."""
        moments = ("date", "ts", "tz")
        found = [Column(t, a, n) for a, n, t in scope.columns if t in ("int2", "int4", "int8", "num", "flt", *moments)]
        if not found:
            return None
        found += [column for column in found if column.type in moments] * 2
        column = self.rng.choice(found)
        frame = self.pick(
            "range between 2 preceding and 1 following", "range between 1 preceding and current row", "range 2 preceding",
            "range between current row and 3 following", "range between unbounded preceding and 1 preceding",
            "range between 1 following and unbounded following", "range between 3 preceding and 1 preceding")
        if column.type in moments:
            frame = re.sub(r"\d", lambda found: self.pick("interval '1 day'", "interval '12 hours'", "interval '1 month'")
                           if found[0] == "1" else "interval '2 months'", frame)
        return Window(partition, [Key(column, self.direction())], frame)

    def frame(self, total, ordered=True):
        """Frames of rows need a total order, those of groups an order."""
        kinds = ["rows"] * 2 * total + ["range"] + ["groups"] * (ordered or total)
        kind = self.rng.choice(kinds)
        if self.chance(0.1):
            return f"{kind} unbounded preceding" if kind == "range" else f"{kind} {self.pick('2 preceding', 'current row')}"
        if kind == "range":
            return "range between " + self.pick("unbounded preceding and current row", "current row and unbounded following",
                                                "unbounded preceding and unbounded following", "current row and current row")
        return f"{kind} between " + self.pick(
            "1 preceding and 1 following", "2 preceding and current row", "current row and unbounded following",
            "unbounded preceding and 1 following", "1 following and 2 following", "2 preceding and 1 preceding",
            "unbounded preceding and unbounded following")

    def direction(self):
        return self.pick("", "", " desc", " nulls first", " desc nulls last")
