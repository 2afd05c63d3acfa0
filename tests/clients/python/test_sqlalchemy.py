"""SQLAlchemy 2 over psycopg: create_all, ORM, reflection, upserts, each statement on its own
(autocommit). Sessions in transactions are in test_sqlalchemy_sessions.py."""

import datetime as dt
import decimal
import os

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects.postgresql import insert

from checks import Checks, equal

check = Checks(sa.__version__)


def engine(driver="psycopg"):
    url = sa.URL.create(f"postgresql+{driver}", username=os.environ["PGUSER"],
                        host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]),
                        database=os.environ["PGDATABASE"])
    return sa.create_engine(url, isolation_level="AUTOCOMMIT")


class Base(orm.DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(50), unique=True)
    born: orm.Mapped[dt.date | None]
    rating: orm.Mapped[decimal.Decimal | None] = orm.mapped_column(sa.Numeric(6, 2))
    books: orm.Mapped[list["Book"]] = orm.relationship(
        back_populates="author", cascade="all, delete-orphan", order_by="Book.title")


class Book(Base):
    __tablename__ = "book"
    __table_args__ = (sa.Index("book_title", "title"),
                      sa.CheckConstraint("pages > 0", name="book_pages"))
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    title: orm.Mapped[str]
    pages: orm.Mapped[int] = orm.mapped_column(server_default="1")
    author_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("author.id", ondelete="CASCADE"))
    author: orm.Mapped[Author] = orm.relationship(back_populates="books")


def fresh():
    e = engine()
    Base.metadata.drop_all(e)
    Base.metadata.create_all(e)
    return e


def objects_live(e):
    with orm.Session(e) as session:
        ada = Author(name="Ada", born=dt.date(1815, 12, 10), rating=decimal.Decimal("9.50"))
        ada.books = [Book(title="Notes", pages=66), Book(title="Letters")]
        session.add_all([ada, Author(name="Bob")])
        session.commit()
        equal(session.scalar(sa.select(sa.func.count()).select_from(Book)), 2)
        query = sa.select(Author).where(Author.name == "Ada").options(orm.selectinload(Author.books))
        found = session.scalars(query).one()
        equal([(b.title, b.pages) for b in found.books], [("Letters", 1), ("Notes", 66)])
        found.rating += 1
        session.commit()
        equal(session.scalar(sa.select(Author.rating).where(Author.id == found.id)),
              decimal.Decimal("10.50"))
        joined = session.execute(
            sa.select(Author.name, sa.func.count(Book.id)).outerjoin(Author.books)
            .group_by(Author.name).order_by(Author.name)).all()
        equal([tuple(r) for r in joined], [("Ada", 2), ("Bob", 0)])
        session.delete(found)
        session.commit()
        equal(session.scalar(sa.select(sa.func.count()).select_from(Book)), 0)


@check
def orm_over_psycopg():
    objects_live(fresh())


@check
def orm_over_psycopg2():
    fresh()
    objects_live(engine("psycopg2"))


@check
def create_all_twice_finds_its_tables():
    e = fresh()
    Base.metadata.create_all(e)
    equal(set(sa.inspect(e).get_table_names()) >= {"author", "book"}, True)


@check
def reflection():
    e = fresh()
    found = sa.inspect(e)
    columns = {c["name"]: c for c in found.get_columns("author")}
    equal(str(columns["name"]["type"]), "VARCHAR(50)")
    equal(str(columns["rating"]["type"]), "NUMERIC(6, 2)")
    equal(columns["name"]["nullable"], False)
    equal(columns["born"]["nullable"], True)
    equal(columns["id"]["autoincrement"], True)
    equal(found.get_pk_constraint("author")["constrained_columns"], ["id"])
    equal([u["column_names"] for u in found.get_unique_constraints("author")], [["name"]])
    [key] = found.get_foreign_keys("book")
    equal((key["constrained_columns"], key["referred_table"], key["referred_columns"],
           key["options"]), (["author_id"], "author", ["id"], {"ondelete": "CASCADE"}))
    equal([(i["name"], i["column_names"]) for i in found.get_indexes("book")],
          [("book_title", ["title"])])
    equal([c["name"] for c in found.get_check_constraints("book")], ["book_pages"])
    metadata = sa.MetaData()
    metadata.reflect(e, only=["author", "book"])
    equal([str(k.column) for k in metadata.tables["book"].foreign_keys], ["author.id"])
    equal(found.has_table("author"), True)
    equal(found.has_table("nothing"), False)
    found.get_view_names()
    found.get_sequence_names()
    equal("public" in found.get_schema_names(), True)


@check
def sequences():
    e = fresh()
    tickets = sa.Sequence("tickets", start=100, increment=5)
    table = sa.Table("ticketed", sa.MetaData(), sa.Column("id", sa.Integer, tickets, primary_key=True),
                     sa.Column("what", sa.Text))
    with e.connect() as c:
        c.execute(sa.text("drop table if exists ticketed"))
        c.execute(sa.text("drop sequence if exists tickets"))
        table.create(c)  # and its sequence
        equal(c.execute(tickets), 100)
        equal(c.execute(table.insert().values(what="a")).inserted_primary_key, (105,))
        equal(c.execute(sa.select(tickets.next_value())).scalar_one(), 110)
        equal("tickets" in sa.inspect(c).get_sequence_names(), True)
        table.drop(c)
        c.execute(sa.schema.DropSequence(tickets, if_exists=True))


@check
def upserts_and_returning():
    e = fresh()
    with e.connect() as c:
        statement = insert(Author).values(name="x", rating=1).returning(Author.id)
        first = c.execute(statement).scalar_one()
        statement = insert(Author).values([{"name": "x", "rating": 5}, {"name": "y", "rating": 6}])
        statement = statement.on_conflict_do_update(
            index_elements=[Author.name], set_={"rating": statement.excluded.rating})
        c.execute(statement)
        equal(c.execute(sa.select(Author.rating).where(Author.id == first)).scalar_one(),
              decimal.Decimal("5.00"))
        c.execute(insert(Author).values(name="x").on_conflict_do_nothing())
        equal(c.execute(sa.select(sa.func.count()).select_from(Author)).scalar_one(), 2)
        changed = c.execute(sa.update(Author).where(Author.name == "y").values(rating=None))
        equal(changed.rowcount, 1)


@check
def many_inserts_at_once():
    e = fresh()
    with orm.Session(e) as session:
        session.add_all([Author(name=f"n{i}") for i in range(300)])
        session.commit()
        equal(session.scalar(sa.select(sa.func.count()).select_from(Author)), 300)


@check
def windows_ctes_and_streams():
    e = fresh()
    with e.connect() as c:
        c.execute(sa.insert(Author), [{"name": f"a{i}", "rating": i % 3} for i in range(9)])
        ranked = sa.select(Author.name, sa.func.row_number().over(
            partition_by=Author.rating, order_by=Author.name).label("n")).cte("ranked")
        found = c.execute(sa.select(ranked.c.name).where(ranked.c.n == 1).order_by("name")).all()
        equal([r[0] for r in found], ["a0", "a1", "a2"])
        numbers = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
        numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < 10))
        equal(c.execute(sa.select(sa.func.sum(numbers.c.n))).scalar_one(), 55)
        equal(c.execute(sa.select(sa.exists().where(Author.name == "a5"))).scalar_one(), True)


@check
def the_end():
    Base.metadata.drop_all(engine())


if __name__ == "__main__":
    check.main()
