"""The tables of SQLAlchemy's checks: relationships, joined inheritance, a tree, a version counter."""

import datetime as dt
import decimal
import os
import uuid

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.hybrid import hybrid_property

from checks import equal


def url(driver):
    return sa.URL.create(f"postgresql+{driver}", username=os.environ["PGUSER"],
                         host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]),
                         database=os.environ["PGDATABASE"])


class Base(orm.DeclarativeBase):
    pass


tagged = sa.Table(
    "tagged", Base.metadata,
    sa.Column("post_id", sa.ForeignKey("post.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("tag_id", sa.ForeignKey("tag.id"), primary_key=True))


class Person(Base):
    """Joined inheritance; `version` counts changes."""
    __tablename__ = "person"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    kind: orm.Mapped[str] = orm.mapped_column(sa.String(20))
    name: orm.Mapped[str] = orm.mapped_column(sa.String(50), unique=True)
    version: orm.Mapped[int] = orm.mapped_column()
    posts: orm.Mapped[list["Post"]] = orm.relationship(
        back_populates="author", cascade="all, delete-orphan", order_by="Post.id")
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "person",
                       "version_id_col": version}


class Manager(Person):
    __tablename__ = "manager"
    id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("person.id"), primary_key=True)
    budget: orm.Mapped[decimal.Decimal] = orm.mapped_column(sa.Numeric(12, 2))
    __mapper_args__ = {"polymorphic_identity": "manager"}


class Post(Base):
    __tablename__ = "post"
    id: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, sa.Identity(), primary_key=True)
    title: orm.Mapped[str]
    likes: orm.Mapped[int] = orm.mapped_column(server_default="0")
    changed: orm.Mapped[dt.datetime | None] = orm.mapped_column(
        sa.DateTime(timezone=True), server_default=sa.func.now(), onupdate=sa.func.now())
    author_id: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("person.id"), index=True)
    author: orm.Mapped[Person | None] = orm.relationship(back_populates="posts")
    tags: orm.Mapped[set["Tag"]] = orm.relationship(secondary=tagged, back_populates="posts")

    @hybrid_property
    def popular(self):
        return self.likes > 10


class Tag(Base):
    __tablename__ = "tag"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(unique=True)
    posts: orm.Mapped[set[Post]] = orm.relationship(secondary=tagged, back_populates="tags")


class Node(Base):
    """A tree in one table, with keys that the client makes."""
    __tablename__ = "node"
    id: orm.Mapped[uuid.UUID] = orm.mapped_column(primary_key=True, default=uuid.uuid4)
    name: orm.Mapped[str]
    parent_id: orm.Mapped[uuid.UUID | None] = orm.mapped_column(sa.ForeignKey("node.id"))
    children: orm.Mapped[list["Node"]] = orm.relationship(
        back_populates="parent", cascade="all, delete-orphan", order_by="Node.name")
    parent: orm.Mapped["Node | None"] = orm.relationship(back_populates="children", remote_side=[id])


class Account(Base):
    __tablename__ = "account"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True, autoincrement=False)
    balance: orm.Mapped[int]
    __table_args__ = (sa.CheckConstraint("balance >= 0", name="never_below"),)


Person.post_count = orm.column_property(
    sa.select(sa.func.count(Post.id)).where(Post.author_id == Person.id)
    .correlate_except(Post).scalar_subquery(), deferred=True)


def fresh(driver="psycopg", **options):
    e = sa.create_engine(url(driver), **options)
    Base.metadata.drop_all(e)
    Base.metadata.create_all(e)
    return e


def raises(kind, function, code=None):
    """The call fails with this class of error, and its cause with this SQLSTATE."""
    try:
        function()
    except kind as error:
        if code is not None:
            found = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
            equal(found, code)
        return error
    raise AssertionError(f"no error, wanted {kind.__name__}")


class Counted:
    """How many statements an engine was given."""

    def __init__(self, e):
        self.statements = []
        sa.event.listen(e, "before_cursor_execute", self.note)

    def note(self, _connection, _cursor, statement, *_):
        self.statements.append(statement)

    def since(self):
        found, self.statements = len(self.statements), []
        return found
