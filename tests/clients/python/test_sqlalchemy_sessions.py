"""SQLAlchemy's sessions in transactions: identity map, cascades, ways of loading, bulk writes,
upserts, types, asyncio."""

import asyncio
import datetime as dt
import decimal
import uuid

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine

from checks import Checks, equal
from sqlalchemy_models import (Base, Counted, Manager, Node, Person, Post, Tag, fresh, raises, tagged,
                               url)

check = Checks(sa.__version__)


@check
def identity_map_and_expiry():
    e = fresh()
    counted = Counted(e)
    with orm.Session(e) as session, orm.Session(e) as other:
        ada = Person(name="Ada")
        session.add(ada)
        equal(session.query(Person).count(), 1)  # autoflush
        session.commit()
        counted.since()
        equal(session.get(Person, ada.id) is ada, True)
        equal(session.scalars(sa.select(Person).where(Person.name == "Ada")).one() is ada, True)
        number = ada.id
        counted.since()
        session.get(Person, number)
        equal(counted.since(), 0)
        other.get(Person, number).name = "Ada L."
        other.commit()
        equal(ada.name, "Ada")
        session.refresh(ada)
        equal(ada.name, "Ada L.")
        session.expire_all()
        session.delete(ada)
        session.commit()
        equal(session.get(Person, number), None)


@check
def rolled_back_objects_are_as_before():
    e = fresh()
    with orm.Session(e) as session:
        ada = Person(name="Ada")
        session.add(ada)
        session.commit()
        ada.name = "changed"
        bob = Person(name="Bob")
        session.add(bob)
        session.flush()
        equal(bob.id is not None, True)
        session.rollback()
        equal((ada.name, bob in session, sa.inspect(bob).transient), ("Ada", False, True))
        session.delete(ada)
        session.flush()
        session.rollback()
        equal(session.scalars(sa.select(Person.name)).all(), ["Ada"])


@check
def cascades_and_orphans():
    e = fresh()
    with orm.Session(e) as session:
        ada = Person(name="Ada", posts=[Post(title=f"t{i}", tags={Tag(name=f"g{i}")}) for i in range(4)])
        session.add(ada)
        session.commit()
        ada.posts.pop(0)
        session.commit()
        equal(session.scalars(sa.select(Post.title).order_by(Post.id)).all(), ["t1", "t2", "t3"])
        equal(session.scalar(sa.select(sa.func.count()).select_from(tagged)), 3)
        shared = session.scalars(sa.select(Tag).where(Tag.name == "g1")).one()
        for post in ada.posts:
            post.tags.add(shared)
        session.commit()
        equal(len(shared.posts), 3)
        shared.posts.clear()
        session.commit()
        session.delete(ada)
        session.commit()
        equal(session.scalar(sa.select(sa.func.count()).select_from(tagged)), 0)
        equal(session.scalar(sa.select(sa.func.count()).select_from(Tag)), 4)


@check
def trees_of_one_table():
    e = fresh()
    with orm.Session(e) as session:
        root = Node(name="root")
        for i in range(3):
            child = Node(name=f"c{i}", parent=root)
            child.children = [Node(name=f"c{i}{k}") for k in range(2)]
        session.add(root)
        session.commit()
        below = sa.select(Node.id, sa.literal(0).label("depth")).where(Node.id == root.id)
        below = below.cte("below", recursive=True)
        below = below.union_all(
            sa.select(Node.id, below.c.depth + 1).join(below, Node.parent_id == below.c.id))
        counts = sa.select(below.c.depth, sa.func.count()).group_by(below.c.depth).order_by("depth")
        equal([tuple(r) for r in session.execute(counts)], [(0, 1), (1, 3), (2, 6)])
        parent = orm.aliased(Node)
        names = sa.select(Node.name, parent.name).join(Node.parent.of_type(parent))
        equal(len(session.execute(names).all()), 9)
        session.delete(root.children[1])
        session.commit()
        equal([c.name for c in root.children], ["c0", "c2"])
        session.delete(root)
        session.commit()
        equal(session.scalar(sa.select(sa.func.count()).select_from(Node)), 0)


@check
def ways_of_loading():
    e = fresh()
    counted = Counted(e)
    with orm.Session(e) as session:
        for i in range(5):
            session.add(Person(name=f"p{i}", posts=[
                Post(title=f"p{i}t{k}", tags={Tag(name=f"p{i}t{k}")}) for k in range(i)]))
        session.commit()
    wanted = [(f"p{i}", [f"p{i}t{k}" for k in range(i)]) for i in range(5)]
    for load, statements in ((orm.selectinload, 3), (orm.joinedload, 1), (orm.subqueryload, 3),
                             (orm.lazyload, 16)):
        with orm.Session(e) as session:
            counted.since()
            query = (sa.select(Person).order_by(Person.name)
                     .options(load(Person.posts).options(load(Post.tags))))
            people = session.scalars(query).unique().all()
            equal([(p.name, [t.name for post in p.posts for t in post.tags]) for p in people], wanted)
            equal(counted.since(), statements)
    with orm.Session(e) as session:
        query = (sa.select(Person).join(Person.posts).where(Post.title == "p3t1")
                 .options(orm.contains_eager(Person.posts)))
        equal([[p.title for p in found.posts] for found in session.scalars(query).unique()], [["p3t1"]])
        person = session.scalars(sa.select(Person).where(Person.name == "p4").options(
            orm.undefer(Person.post_count), orm.raiseload(Person.posts))).one()
        equal(person.post_count, 4)
        raises(sa.exc.InvalidRequestError, lambda: person.posts)


@check
def queries_of_relationships():
    e = fresh()
    with orm.Session(e) as session:
        session.add_all([
            Person(name="a", posts=[Post(title="x", likes=20, tags={Tag(name="t")}), Post(title="y")]),
            Person(name="b", posts=[Post(title="z")]), Person(name="c")])
        session.commit()

        def names(*where):
            return session.scalars(sa.select(Person.name).where(*where).order_by(Person.name)).all()

        equal(names(Person.posts.any()), ["a", "b"])
        equal(names(~Person.posts.any()), ["c"])
        equal(names(Person.posts.any(Post.popular)), ["a"])
        equal(names(Person.posts.any(Post.tags.any(Tag.name == "t"))), ["a"])
        equal(names(Person.id.in_(sa.select(Post.author_id).where(Post.likes == 0))), ["a", "b"])
        equal(names(Person.name.in_([])), [])
        equal(session.scalars(sa.select(Post.title).where(Post.author.has(name="b"))).all(), ["z"])
        ranked = sa.select(Post, sa.func.rank().over(
            partition_by=Post.author_id, order_by=Post.likes.desc()).label("r")).subquery()
        best = orm.aliased(Post, ranked)
        equal(session.scalars(sa.select(best.title).where(ranked.c.r == 1).order_by(best.title)).all(),
              ["x", "z"])
        last = sa.select(Post.title).where(Post.author_id == Person.id).order_by(
            Post.id.desc()).limit(1).lateral("last")
        found = session.execute(sa.select(Person.name, last.c.title).join(last, sa.true(), isouter=True)
                                .order_by(Person.name)).all()
        equal([tuple(r) for r in found], [("a", "y"), ("b", "z"), ("c", None)])
        both = sa.union(sa.select(Person.name), sa.select(Tag.name)).subquery()
        equal(session.scalar(sa.select(sa.func.count()).select_from(both)), 4)


@check
def inheritance_over_two_tables():
    e = fresh()
    with orm.Session(e) as session:
        session.add_all([Person(name="p"), Manager(name="m", budget=decimal.Decimal("10.25"))])
        session.commit()
        found = session.scalars(sa.select(Person).order_by(Person.name)).all()
        equal([type(p).__name__ for p in found], ["Manager", "Person"])
        equal(found[0].budget, decimal.Decimal("10.25"))
        every = orm.with_polymorphic(Person, "*")
        query = sa.select(every).where(sa.or_(every.Manager.budget > 5, every.name == "p"))
        equal(len(session.scalars(query).all()), 2)
        found[0].budget *= 2
        found[0].name = "boss"
        session.commit()
        equal(session.scalars(sa.select(Manager.name).where(Manager.budget > 20)).all(), ["boss"])
        session.delete(found[0])
        session.commit()
        equal(session.scalar(sa.text("select count(*) from manager")), 0)


@check
def bulk_inserts_return_their_rows_in_order():
    for driver in ("psycopg", "psycopg2"):
        e = fresh(driver)
        with orm.Session(e) as session:
            given = [{"title": f"n{i}", "likes": i} for i in range(2500)]
            made = session.scalars(
                sa.insert(Post).returning(Post, sort_by_parameter_order=True), given).all()
            equal([p.title for p in made], [g["title"] for g in given])
            equal(len({p.id for p in made}), 2500)
            session.commit()
            session.execute(sa.insert(Post), [{"title": f"m{i}"} for i in range(1500)])
            session.bulk_save_objects([Post(title=f"o{i}") for i in range(200)])
            session.bulk_insert_mappings(Tag, [{"name": f"t{i}"} for i in range(300)])
            session.commit()
            equal(session.scalar(sa.select(sa.func.count()).select_from(Post)), 4200)
            session.execute(sa.update(Post), [{"id": p.id, "likes": -7} for p in made[:500]])
            session.commit()
            equal(session.scalar(sa.select(sa.func.count()).where(Post.likes == -7)), 500)


@check
def writes_of_many_rows_synchronise_the_session():
    e = fresh()
    with orm.Session(e) as session:
        posts = [Post(title=f"t{i}", likes=i) for i in range(10)]
        session.add_all(posts)
        session.flush()
        session.execute(sa.update(Post).where(Post.likes >= 5).values(likes=Post.likes + 100),
                        execution_options={"synchronize_session": "fetch"})
        equal([p.likes for p in posts[4:7]], [4, 105, 106])
        gone = session.scalars(sa.delete(Post).where(Post.likes > 107).returning(Post.title)).all()
        equal(sorted(gone), ["t8", "t9"])
        changed = session.execute(
            sa.update(Post).where(Post.title == "t0").values(likes=1).returning(Post.id, Post.likes)).one()
        equal(tuple(changed), (posts[0].id, 1))
        session.execute(sa.update(Post).values(
            author_id=sa.select(sa.func.max(Person.id)).scalar_subquery()))
        session.execute(sa.update(Post).where(Post.author_id == Person.id, Person.name == "x")
                        .values(title=Person.name), execution_options={"synchronize_session": False})
        session.commit()
        equal(session.scalar(sa.select(sa.func.count()).select_from(Post)), 8)


@check
def upserts_give_objects():
    e = fresh()
    with orm.Session(e) as session:
        session.add(Tag(name="a"))
        session.commit()
        statement = insert(Tag).values([{"name": "a"}, {"name": "b"}])
        statement = statement.on_conflict_do_update(
            index_elements=[Tag.name], set_={"name": statement.excluded.name + "!"})
        made = session.scalars(statement.returning(Tag),
                               execution_options={"populate_existing": True}).all()
        equal(sorted(t.name for t in made), ["a!", "b"])
        nothing = insert(Tag).values(name="b").on_conflict_do_nothing().returning(Tag.id)
        equal(session.scalars(nothing).all(), [])
        merged = session.merge(Tag(id=made[0].id, name="merged"))
        session.commit()
        equal(merged is made[0], True)
        equal(session.get(Tag, merged.id).name, "merged")


@check
def rows_stream_in_portions():
    e = fresh()
    with orm.Session(e) as session:
        session.execute(sa.insert(Post), [{"title": f"n{i}", "likes": i} for i in range(3000)])
        session.commit()
        query = sa.select(Post).order_by(Post.id).execution_options(yield_per=100)
        seen = 0
        for portion in session.scalars(query).partitions():
            equal(len(portion), 100)
            seen += len(portion)
        equal(seen, 3000)
        with e.connect() as c:
            result = c.execution_options(stream_results=True, max_row_buffer=50).execute(
                sa.select(Post.likes).order_by(Post.likes))
            equal([result.fetchone()[0] for _ in range(5)], [0, 1, 2, 3, 4])
            result.close()
            equal(c.scalar(sa.select(sa.func.count()).select_from(Post)), 3000)


@check
def types_come_back_as_they_were():
    e = fresh()
    metadata = sa.MetaData()
    table = sa.Table(
        "typed", metadata, sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("d", sa.Date), sa.Column("t", sa.Time), sa.Column("i", sa.Interval),
        sa.Column("y", sa.LargeBinary), sa.Column("b", sa.Boolean), sa.Column("f", sa.Double),
        sa.Column("s", sa.SmallInteger), sa.Column("n", sa.Numeric(20, 6)),
        sa.Column("a", ARRAY(sa.Integer)), sa.Column("ta", ARRAY(sa.Text)),
        sa.Column("tz", sa.DateTime(timezone=True)), sa.Column("ts", sa.DateTime),
        sa.Column("e", sa.Enum("red", "green", native_enum=False, create_constraint=True, name="colour")),
        sa.Column("twice", sa.Integer, sa.Computed("s * 2", persisted=True)))
    row = {"id": uuid.uuid4(), "d": dt.date(2020, 2, 29), "t": dt.time(1, 2, 3, 4),
           "i": dt.timedelta(days=3, seconds=5), "y": b"\x00\xff", "b": True, "f": 0.1, "s": -7,
           "n": decimal.Decimal("12345678.123456"), "a": [1, None, 3], "ta": ["a", 'b"c', None],
           "tz": dt.datetime(2021, 1, 2, 3, 4, 5, 6, tzinfo=dt.timezone.utc),
           "ts": dt.datetime(1999, 12, 31, 23, 59, 59), "e": "green"}
    with e.begin() as c:
        metadata.drop_all(c)
        metadata.create_all(c)
        c.execute(table.insert(), row)
        found = c.execute(sa.select(table)).mappings().one()
        equal({k: found[k] for k in row}, row)
        equal(found["twice"], -14)
        equal(c.scalar(sa.select(table.c.id).where(sa.literal(3) == sa.any_(table.c.a), table.c.ta.contains(["a"]))), row["id"])
        with c.begin_nested() as point:
            raises(sa.exc.IntegrityError, lambda: c.execute(sa.text("update typed set e = 'blue'")), "23514")
            point.rollback()
        metadata.drop_all(c)


def of_a_type(column_type, value):
    e = fresh()
    metadata = sa.MetaData()
    table = sa.Table("special", metadata, sa.Column("id", sa.Integer, primary_key=True),
                     sa.Column("v", column_type))
    with e.begin() as c:
        c.execute(sa.text("drop table if exists special"))
        metadata.create_all(c)
        c.execute(table.insert(), {"id": 1, "v": value})
        equal(c.scalar(sa.select(table.c.v)), value)
        metadata.drop_all(c)


@check
def enums_of_the_server():
    of_a_type(sa.Enum("red", "green", name="colour_of_server"), "green")


@check
def documents():
    of_a_type(sa.JSON(), {"a": [1, 2, {"b": None}]})


@check
def sessions_of_asyncio():
    fresh().dispose()
    e = create_async_engine(url("asyncpg"))
    maker = async_sessionmaker(e, expire_on_commit=False)

    async def add(name):
        async with maker() as session, session.begin():
            session.add(Person(name=name, posts=[Post(title=name)]))

    async def all_of_it():
        await asyncio.gather(*(add(f"p{i}") for i in range(20)))
        async with maker() as session:
            query = sa.select(Person).options(orm.selectinload(Person.posts)).order_by(Person.id)
            people = (await session.scalars(query)).all()
            equal(sorted(p.posts[0].title for p in people), sorted(f"p{i}" for i in range(20)))
            try:
                async with session.begin_nested():
                    session.add(Person(name="p1"))
            except sa.exc.IntegrityError as error:
                equal(error.orig.sqlstate, "23505")
            made = await session.scalars(sa.insert(Tag).returning(Tag.id, sort_by_parameter_order=True),
                                         [{"name": f"t{i}"} for i in range(100)])
            equal(len(made.all()), 100)
            await session.commit()
            counted = await session.stream_scalars(sa.select(Tag.id).order_by(Tag.id))
            equal(len([n async for n in counted]), 100)
        await e.dispose()

    asyncio.run(all_of_it())


@check
def the_end():
    Base.metadata.drop_all(sa.create_engine(url("psycopg")))


if __name__ == "__main__":
    check.main()
