"""Random queries: every clause over every table expression, nested to depth 4."""

from .expressions import COMMON, Expressions, Scope
from .tables import SCHEMA
from .tree import (Column, Const, Cte, Derived, Expr, Grouping, Join, Key, Order, Output, Recursive, Select, Series,
                   Table, Union, Values)

DEPTH = 4
SMALL = [name for name in SCHEMA if name != "big"]
SETS = ["union", "union all", "intersect", "except", "intersect all", "except all"]


class Queries(Expressions):
    # How likely aggregates of all rows without a condition get a HAVING.
    tested = 0

    def any(self):
        """A whole query, with the clauses that only the outermost has."""
        self.names, self.ctes, self.fuel = 0, [], self.rng.choice([8, 15, 25, 40, 60])
        if self.chance(0.006):
            return self.volatile()
        held = self.with_queries() if self.chance(0.25) else []
        types = [self.rng.choice(COMMON) for _ in range(self.rng.randint(1, 4))]
        query = self.query(types, None, self.rng.randint(0, DEPTH))
        if isinstance(query, Select):
            query.ctes = held
            if self.chance(0.04):
                query.outputs.append(Output(Const("text", None, True, True), "o9"))
        if isinstance(query, Values):
            query = Select([Output(Column(t, "v", n), n) for n, t in query.signature()], Derived(query, "v"))
        if not query.order and self.chance(0.6):
            query.order = self.order(query, 0.5)
        return query

    def alias(self, letter="t"):
        self.names += 1
        return f"{letter}{self.names}"

    def with_queries(self, outer=None, d=2):
        found = []
        for _ in range(self.rng.randint(1, 2)):
            name = self.alias("c")
            if self.chance(0.12):
                found.append(self.recursive(name))
            else:
                types = [self.rng.choice(COMMON) for _ in range(self.rng.randint(1, 3))]
                how = self.pick("", "", "materialized ", "not materialized ")
                found.append(Cte(name, self.query(types, outer, d), how))
            self.ctes.append((name, found[-1].query.signature()))
        return found

    def recursive(self, name):
        """Numbers, or what is reached from a row: both come to an end."""
        held = [("o0", "int4")]
        if self.chance(0.5):
            step = Expr("int4", Column("int4", "c", "o0"), " + 1")
            source, where = Table(name, "c", held), [Expr("bool", "c.o0 < ", self.pick("3", "4", "7"))]
            first = Select([Output(Const("int4", "1"), "o0")])
            kind = self.pick("union", "union all")
            if self.chance(0.4):
                return Recursive(name, self.carrying(kind, first, Select([Output(step, "o0")], source, where)))
        else:
            step = Column("int4", "t", "id")
            link = Expr("bool", Column("int4", "t", "pid"), " = ", Column("int4", "c", "o0"))
            source, where = Join("join", Table(name, "c", held), Table("q", "t", []), [link]), []
            first = Select([Output(Column("int4", "t", "k"), "o0")], Table("p", "t", []), [Expr("bool", "t.id < 4")])
            kind = "union"
        return Recursive(name, Union(kind, first, Select([Output(step, "o0")], source, where)))

    def carrying(self, kind, first, step):
        """The recursion with a second column, whose values grow in each round."""
        type, start, more = self.pick(("num", "1.5", " * 1.5"), ("num", "10.00", " / 4"), ("text", "text 'a'", " || 'b'"),
                                      ("date", "date '2020-01-30'", " + 1"), ("int8", "1::bigint", " + c.o0"))
        first.outputs.append(Output(Expr(type, start), "o1"))
        step.outputs.append(Output(Expr(type, "(", Column(type, "c", "o1"), more, ")"), "o1"))
        return Union(kind, first, step)

    def with_its_own(self, types, outer, d):
        """A query inside with a WITH of its own, whose queries may see what stands around."""
        around, self.ctes = self.ctes, list(self.ctes)
        held = self.with_queries(outer if self.chance(0.5) else None, d - 1)
        query = self.pick(self.plain, self.grouped, self.aggregated, self.distinct)(types, outer, d - 1)
        query.ctes, self.ctes = held, around
        return query

    def volatile(self):
        """A WITH query that is named twice is computed once."""
        first = self.pick("random()", "clock_timestamp()::text || random()::text")
        query = Select([Output(Column("int4", "t", "id"), "o0"), Output(Expr("flt", first), "o1")], Table("p", "t", []))
        link = self.pick("a.o1 = b.o1", "a.o0 = b.o0 and a.o1 <> b.o1")
        both = Join("join", Table("c", "a", []), Table("c", "b", []), [Expr("bool", link)])
        whole = Select([Output(Expr("int8", "count(*)"), "o0")], both, ctes=[Cte("c", query)])
        # Parts of it would differ by chance.
        whole.is_fixed = True
        return whole

    def query(self, types, outer, d):
        """A query of columns of these types."""
        if self.fuel > 5 and self.chance(0.12):
            left, right = (self.query(types, outer, d - 1) for _ in range(2))
            union = Union(self.rng.choice(SETS), left, right)
            union.order = self.order(union, 1) if self.chance(0.1) else None
            return union
        if self.chance(0.04):
            return self.values(types, outer)
        if d > 1 and self.fuel > 5 and self.chance(0.03):
            return self.with_its_own(types, outer, d)
        make = self.pick(self.plain, self.plain, self.plain, self.grouped, self.grouped, self.aggregated, self.distinct,
                         self.distinct_on)
        return make(types, outer, d)

    def outputs(self, types, scope, d):
        """Outputs o0, o1 and so on; some columns keep their names."""
        found = [Output(self.expr(type, scope, d), f"o{at}") for at, type in enumerate(types)]
        for output in found:
            expr = output.expr
            if isinstance(expr, Column) and expr.alias and self.chance(0.3) and all(expr.name != o.name for o in found):
                output.name = expr.name
        return found

    def order(self, query, limited):
        """An order by some outputs; with a limit, by all."""
        names = [name for name, _ in query.signature()]
        chosen = self.rng.sample(names, self.rng.randint(1, len(names)))
        limit = self.count(self.rng.randint(0, 6)) if self.chance(limited) else None
        offset = self.count(self.rng.randint(0, 2)) if self.chance(0.5 if limit else 0.05) else None
        return Order({name: self.direction() for name in chosen}, (), limit, offset, named=self.chance(0.3))

    def count(self, value):
        return Const("int8", str(value), True, self.chance(0.3), True)

    def conditions(self, scope, d, most=2):
        one = lambda: self.scalar("bool", scope, d) if d > 0 and self.fuel > 0 and self.chance(0.3) else self.expr("bool", scope, d)
        return [one() for _ in range(self.rng.randint(0, most))]

    # Kinds of SELECT

    def plain(self, types, outer, d):
        source = self.source(outer, d)
        scope = Scope(self.visible(source), outer, windows=[])
        select = Select(self.outputs(types, scope, d), source, self.conditions(scope.without_windows(), d))
        return self.finish(select, scope, d)

    def finish(self, select, scope, d):
        """The named windows of what was grown, and perhaps an order by an expression."""
        if self.chance(0.12):
            select.order = self.order(select, 1)
            type = self.rng.choice(COMMON)
            key = self.expr(type, scope, d)
            # A whole number in ORDER BY is a place, a constant means nothing.
            if any(isinstance(node, Column) for node in key.walk()):
                select.order.keys = [Key(key, self.direction())]
        select.windows = scope.windows or []
        return select

    def distinct(self, types, outer, d):
        select = self.plain(types, outer, d)
        select.order = None
        select.distinct = "distinct"
        return select

    def distinct_on(self, types, outer, d):
        source = self.source(outer, d)
        scope = Scope(self.visible(source), outer)
        # A merged column may have the name of an output, which goes before it.
        keys = [column for column in [self.here(scope) for _ in range(self.rng.randint(1, 2))] if column and column.alias]
        select = Select(self.outputs(types, scope, d), source, self.conditions(scope, d), on=keys)
        if keys:
            directions = {name: self.direction() for name, _ in select.signature()}
            select.order = Order(directions, [Key(key, self.direction()) for key in keys], total=True)
        return select

    def here(self, scope):
        """A column of this query itself."""
        found = [Column(type, alias, name) for alias, name, type in scope.columns]
        found += [column for column in found if column.name in ("id", "i")] * 2
        return self.rng.choice(found) if found else None

    def aggregated(self, types, outer, d):
        """Aggregates of all rows: one row, or none with HAVING."""
        return self.groups(types, outer, d, [])

    def grouped(self, types, outer, d):
        return self.groups(types, outer, d, None)

    def groups(self, types, outer, d, keys):
        source = self.source(outer, d)
        scope = Scope(self.visible(source), outer)
        where = self.conditions(scope, d, 1)
        elements = [] if keys == [] else self.elements(scope)
        keys = [key for element in elements for key in element.keys]
        over = Scope([], outer, scope, keys, [], keys if any(element.kind for element in elements) else ())
        outputs = self.outputs(types, over, d)
        having = self.conditions(over.without_windows(), d, 1) if self.chance(0.5) else []
        if not elements and self.chance(0.6 if having else self.tested):
            having = [Expr("bool", "(", self.aggregate("int8", scope, 0), self.pick(" > ", " < "), "2)")]
        return self.finish(Select(outputs, source, where, elements, having), over, d)

    def elements(self, scope):
        """What stands in GROUP BY."""
        keys = [key for key in [self.here(scope) for _ in range(self.rng.randint(1, 3))] if key]
        keys = list({(key.alias, key.name): key for key in keys}.values())
        if keys and self.chance(0.15):
            keys[0] = self.computed(keys[0])
        if not keys:
            return []
        if len(keys) > 1 and self.chance(0.08):
            return [Grouping(self.pick("rollup", "cube"), keys[:1]), Grouping(self.pick("rollup", "cube"), keys[1:])]
        if len(keys) > 1 and self.chance(0.05):
            return [Grouping(self.pick("rollup", "cube"), keys, pair=True)]
        kind = self.pick("", "", "", "rollup", "cube", "grouping sets")
        if kind == "grouping sets":
            sets = [self.rng.sample(range(len(keys)), self.rng.randint(0, len(keys))) for _ in range(self.rng.randint(1, 3))]
            used = sorted({at for one in sets for at in one})
            sets = [[used.index(at) for at in one] for one in sets]
            return [Grouping(kind, [keys[at] for at in used], sets)]
        if kind and len(keys) > 1 and self.chance(0.25):
            return [Grouping("", keys[:1]), Grouping(kind, keys[1:])]
        return [Grouping(kind, keys)]

    def computed(self, column):
        """An expression of a column, as a key."""
        forms = {"int4": ("(", " % 2)"), "text": ("upper(", ")"), "num": ("round(", ")"), "bool": ("(not ", ")")}
        before, behind = forms.get(column.type, ("coalesce(", ", null)"))
        return Expr(column.type, before, column, behind)

    # FROM

    def visible(self, source):
        return source.columns() if source else []

    def source(self, outer, d):
        """A FROM clause, or none."""
        if self.chance(0.06):
            return None
        source = self.relation(outer, d, [])
        for _ in range(self.pick(0, 0, 0, 1, 1, 2)):
            source = self.joined(source, outer, d)
        if self.chance(0.06):
            # Joins bind before a comma: what stands behind one sees what is before it by LATERAL alone.
            source = Join("comma", source, self.relation(outer, d, source.columns()))
        return source

    def relation(self, outer, d, beside):
        """One table expression; laterals see what stands `beside` them."""
        self.fuel -= 1
        if beside and d > 0 and self.chance(0.25):
            around = Scope(beside, outer)
            inside = self.tested_aggregates(around, d) if self.chance(0.2) else self.inside(around, d)
            return Derived(self.correlated(inside, around), self.alias(), True)
        if d > 0 and self.fuel > 0 and self.chance(0.3):
            return Derived(self.inside(outer, d), self.alias())
        if self.ctes and self.chance(0.4):
            name, signature = self.rng.choice(self.ctes)
            return Table(name, self.alias(), signature)
        if self.chance(0.04):
            types = [self.rng.choice(COMMON) for _ in range(self.rng.randint(1, 2))]
            around = Scope(beside, outer) if beside and self.chance(0.4) else None
            return Derived(self.values(types, around or outer), self.alias("v"), around is not None)
        if self.chance(0.04):
            last = self.column("int4", Scope(beside)) if beside and self.chance(0.5) else None
            return Series(self.alias("g"), last or Const("int4", "3", True, True))
        name = "big" if self.chance(0.02) else self.rng.choice(SMALL)
        return Table(name, self.alias(), SCHEMA[name])

    def inside(self, outer, d):
        types = [self.rng.choice(COMMON) for _ in range(self.rng.randint(1, 3))]
        return self.query(types, outer, d - 1)

    def tested_aggregates(self, outer, d):
        """Aggregates of all rows with a HAVING: a row or none."""
        types = [self.rng.choice(COMMON) for _ in range(self.rng.randint(1, 2))]
        before, self.tested = self.tested, 1
        query = self.aggregated(types, outer, d - 1)
        self.tested = before
        return query

    def joined(self, left, outer, d):
        kind = self.pick("join", "join", "left join", "left join", "right join", "full join", "cross")
        beside = left.columns() if kind in ("join", "left join", "cross") else []
        right = self.relation(outer, d, beside)
        if right.__class__ is Table and self.chance(0.1):
            right = self.joined(right, outer, d - 1)
        if kind == "cross" or getattr(right, "lateral", False) and self.chance(0.5):
            return Join("left join" if kind == "left join" else "join", left, right)
        shared = self.shared(left, right)
        if shared and not isinstance(left, Join) and not isinstance(right, Join) and self.chance(0.15):
            natural = isinstance(left, Table) and isinstance(right, Table) and self.chance(0.3)
            using = self.rng.sample(sorted(set(shared)), min(len(set(shared)), self.pick(1, 1, 2)))
            return Join(kind, left, right, using=using, natural=natural)
        on = self.links(left, right)
        if kind != "full join" and (self.chance(0.3) or not on):
            on.append(self.expr("bool", Scope(left.columns() + right.columns(), outer), min(d, 1)))
        return Join(kind, left, right, on)

    def shared(self, left, right):
        return [name for _, name, type in left.columns() if (name, type) in [(n, t) for _, n, t in right.columns()]]

    def links(self, left, right):
        """Equality of columns of both sides."""
        pairs = [(Column(t, a, n), Column(t, b, m)) for a, n, t in left.columns() for b, m, s in right.columns()
                 if s == t and a and b]
        pairs.sort(key=lambda pair: pair[0].type != "int4")
        if not pairs:
            return []
        x, y = self.rng.choice(pairs[: max(1, len(pairs) // 2)])
        return [Expr("bool", x, " = ", y)]

    def values(self, types, outer=None):
        """VALUES whose first row says the types; the others may have expressions of what stands around."""
        cells = []
        for row in range(self.rng.randint(1, 4)):
            for type in types:
                if row and self.chance(0.2):
                    cells.append(self.expr(type, Scope([], outer), 1))
                    continue
                cell = self.constant(type, parameter=False)
                cell.bare = row > 0
                cells.append(cell)
        return Values(types, cells)
