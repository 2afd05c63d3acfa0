"""SQLAlchemy's transactions: version counters, row locks, savepoints, failures, isolation, threads."""

import threading

import sqlalchemy as sa
from sqlalchemy import orm

from checks import Checks, equal
from sqlalchemy_models import Account, Base, Person, Post, Tag, fresh, raises, url

check = Checks(sa.__version__)


@check
def version_counters_find_lost_updates():
    e = fresh()
    with orm.Session(e) as session, orm.Session(e) as other:
        session.add(Person(name="Ada"))
        session.commit()
        mine = session.scalars(sa.select(Person)).one()
        theirs = other.scalars(sa.select(Person)).one()
        theirs.name = "theirs"
        other.commit()
        equal(theirs.version, 2)
        mine.name = "mine"
        raises(orm.exc.StaleDataError, session.commit)
        session.rollback()
        mine.name = "mine"
        session.commit()
        equal((mine.name, mine.version), ("mine", 3))
        other.expire_all()
        equal(theirs.name, "mine")
        session.delete(mine)
        session.commit()
        theirs.name = "late"
        raises(orm.exc.StaleDataError, other.commit)


@check
def rows_are_locked():
    e = fresh()
    with orm.Session(e) as session, orm.Session(e) as other:
        session.add_all([Account(id=i, balance=100) for i in range(4)])
        session.commit()
        locked = session.get(Account, 1, with_for_update=True)
        query = sa.select(Account).where(Account.id == 1)
        raises(sa.exc.OperationalError, lambda: other.scalars(query.with_for_update(nowait=True)).all(),
               "55P03")
        other.rollback()
        raises(sa.exc.OperationalError, lambda: other.scalars(query.with_for_update(
            nowait=True, read=True)).all(), "55P03")
        other.rollback()
        free = sa.select(Account.id).order_by(Account.id).with_for_update(skip_locked=True)
        equal(other.scalars(free).all(), [0, 2, 3])
        other.rollback()
        other.execute(sa.text("set local lock_timeout = '100ms'"))
        raises(sa.exc.OperationalError, lambda: other.scalars(query.with_for_update()).all(), "55P03")
        other.rollback()
        equal(other.scalars(query).one().balance, 100)
        locked.balance = 1
        session.commit()
        other.rollback()
        equal(other.scalars(query.with_for_update(key_share=True)).one().balance, 1)


@check
def only_rows_of_the_named_table_are_locked():
    e = fresh()
    with orm.Session(e) as session, orm.Session(e) as other:
        session.add(Person(name="a", posts=[Post(title="x"), Post(title="y")]))
        session.commit()
        query = sa.select(Post).join(Post.author).where(Post.title == "x")
        post = session.scalars(query.with_for_update(of=Post)).one()
        post.likes = 1
        session.flush()
        other.execute(sa.text("set local lock_timeout = '5s'"))
        changed = other.execute(sa.update(Person).where(Person.name == "a").values(name="b"))
        equal(changed.rowcount, 1)
        other.execute(sa.update(Post).where(Post.title == "y").values(likes=5))
        other.commit()
        session.commit()


@check
def nested_transactions_are_savepoints():
    e = fresh()
    with orm.Session(e) as session:
        session.add(Tag(name="kept"))
        with session.begin_nested():
            session.add(Tag(name="inner"))
        failed = raises(sa.exc.IntegrityError, lambda: nested_twice(session), "23505")
        equal(failed.orig.diag.constraint_name, "tag_name_key")
        for name in ("kept", "new", "inner", "newer"):
            try:
                with session.begin_nested():
                    session.add(Tag(name=name))
            except sa.exc.IntegrityError:
                pass
        point = session.begin_nested()
        session.add(Tag(name="point"))
        session.flush()
        deeper = session.begin_nested()
        session.add(Tag(name="deeper"))
        deeper.commit()
        point.rollback()
        session.commit()
        names = session.scalars(sa.select(Tag.name).order_by(Tag.id)).all()
        equal(names, ["kept", "inner", "new", "newer"])


def nested_twice(session):
    with session.begin_nested():
        session.add(Tag(name="lost"))
        with session.begin_nested():
            session.add(Tag(name="kept"))


@check
def objects_changed_in_a_savepoint_are_expired():
    e = fresh()
    with orm.Session(e) as session:
        tag, other = Tag(name="a"), Tag(name="b")
        session.add_all([tag, other])
        session.flush()
        try:
            with session.begin_nested():
                tag.name = "changed"
                session.delete(other)
                session.flush()
                raise RuntimeError
        except RuntimeError:
            pass
        equal((tag.name, other.name, sa.inspect(other).persistent), ("a", "b", True))
        session.commit()
        equal(session.scalar(sa.select(sa.func.count()).select_from(Tag)), 2)


@check
def a_failed_flush_wants_a_rollback():
    e = fresh()
    with orm.Session(e) as session:
        session.add(Tag(name="a"))
        session.commit()
        session.add(Tag(name="a"))
        raises(sa.exc.IntegrityError, session.flush, "23505")
        session.rollback()
        session.add(Account(id=1, balance=-1))
        error = raises(sa.exc.IntegrityError, session.flush, "23514")
        equal(error.orig.diag.constraint_name, "never_below")
        session.rollback()
        session.add(Post(title="x", author_id=77))
        raises(sa.exc.IntegrityError, session.flush, "23503")
        session.rollback()
        session.add(Post())
        raises(sa.exc.IntegrityError, session.flush, "23502")
        session.rollback()
    with e.connect() as c:
        raises(sa.exc.DataError, lambda: c.execute(sa.text("select 1 / 0")), "22012")
        raises(sa.exc.DBAPIError, lambda: c.execute(sa.text("select 1")), "25P02")
        c.rollback()
        equal(c.scalar(sa.text("select 1")), 1)


@check
def tests_that_roll_everything_back():
    """The documented recipe of a test suite: a session within a transaction that is not its own."""
    e = fresh()
    with e.connect() as c:
        outer = c.begin()
        with orm.Session(c, join_transaction_mode="create_savepoint") as session:
            session.add(Tag(name="a"))
            session.commit()
            session.add(Tag(name="b"))
            session.rollback()
            session.add(Tag(name="c"))
            session.commit()
            equal(session.scalars(sa.select(Tag.name).order_by(Tag.name)).all(), ["a", "c"])
        outer.rollback()
    with orm.Session(e) as session:
        equal(session.scalars(sa.select(Tag)).all(), [])


@check
def snapshots_conflict():
    e = fresh()
    repeatable = e.execution_options(isolation_level="REPEATABLE READ")
    with orm.Session(e) as setup:
        setup.add_all([Account(id=1, balance=10), Account(id=2, balance=10)])
        setup.commit()
    with orm.Session(repeatable) as session, orm.Session(e) as other:
        equal(session.get(Account, 1).balance, 10)
        other.get(Account, 1).balance = 20
        other.get(Account, 2).balance = 21
        other.commit()
        equal(session.get(Account, 2).balance, 10)
        session.get(Account, 1).balance += 1
        raises(sa.exc.OperationalError, session.commit, "40001")
        session.rollback()
        session.get(Account, 1).balance += 1
        session.commit()
        equal(session.get(Account, 1).balance, 21)


@check
def write_skew_is_found():
    e = fresh()
    serializable = sa.create_engine(url("psycopg"), isolation_level="SERIALIZABLE")
    with orm.Session(e) as setup:
        setup.add_all([Account(id=1, balance=10), Account(id=2, balance=10)])
        setup.commit()
    with orm.Session(serializable) as one, orm.Session(serializable) as two:
        total = sa.select(sa.func.sum(Account.balance))
        equal((one.scalar(total), two.scalar(total)), (20, 20))
        one.get(Account, 1).balance = 0
        two.get(Account, 2).balance = 0
        one.commit()
        raises(sa.exc.OperationalError, two.commit, "40001")
        two.rollback()
        equal(two.scalar(total), 10)
        two.rollback()
    with serializable.connect() as c:
        equal(c.get_isolation_level(), "SERIALIZABLE")
    with e.connect().execution_options(isolation_level="SERIALIZABLE", postgresql_readonly=True) as c:
        equal(c.get_isolation_level(), "SERIALIZABLE")
        raises(sa.exc.InternalError, lambda: c.execute(sa.insert(Tag).values(name="no")), "25006")


def moves(e, number, level, rounds, failures):
    """A thread that moves money in a ring and begins again after what may be retried."""
    maker = orm.sessionmaker(e.execution_options(isolation_level=level))
    try:
        for i in range(rounds):
            source, target = (number + i) % 4, (number + i + 1) % 4
            while not moved(maker, source, target, level):
                pass
    except Exception as error:
        failures.append(error)


def moved(maker, source, target, level):
    try:
        with maker.begin() as session:
            lock = None if level == "SERIALIZABLE" else True
            paid = session.get(Account, source, with_for_update=lock)
            got = session.get(Account, target, with_for_update=lock)
            if paid.balance > 0:
                paid.balance -= 1
                got.balance += 1
        return True
    except sa.exc.OperationalError as error:
        if error.orig.sqlstate not in ("40001", "40P01"):
            raise
        return False


@check
def threads_move_money():
    e = fresh(pool_size=8)
    for level in ("READ COMMITTED", "SERIALIZABLE"):
        with orm.Session(e) as session:
            session.execute(sa.delete(Account))
            session.add_all([Account(id=i, balance=5) for i in range(4)])
            session.commit()
        failures = []
        threads = [threading.Thread(target=moves, args=(e, n, level, 20, failures)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(failures, [])
        with orm.Session(e) as session:
            equal(session.scalar(sa.select(sa.func.sum(Account.balance))), 20)
            equal(session.scalar(sa.select(sa.func.min(Account.balance))) >= 0, True)


@check
def workers_take_jobs_once():
    """A queue in a table, by SKIP LOCKED."""
    e = fresh(pool_size=8)
    with orm.Session(e) as session:
        session.add_all([Tag(name=f"job{i}") for i in range(60)])
        session.commit()
    taken, guard = [], threading.Lock()

    def work():
        while True:
            with orm.Session(e) as session, session.begin():
                job = session.scalars(sa.select(Tag).order_by(Tag.id).limit(1)
                                      .with_for_update(skip_locked=True)).first()
                if job is None:
                    return
                session.delete(job)
                with guard:
                    taken.append(job.name)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(sorted(taken), sorted(f"job{i}" for i in range(60)))
    with orm.Session(e) as session:
        equal(session.scalar(sa.select(sa.func.count()).select_from(Tag)), 0)


@check
def tables_change_in_a_transaction():
    e = fresh()
    with e.connect() as c:
        metadata = sa.MetaData()
        sa.Table("short_lived", metadata, sa.Column("id", sa.Integer, primary_key=True))
        metadata.create_all(c)
        c.execute(sa.text("alter table tag add column colour text default 'red'"))
        c.execute(sa.text("insert into tag (name) values ('x')"))
        equal(c.scalar(sa.text("select colour from tag")), "red")
        c.rollback()
        equal(sa.inspect(e).has_table("short_lived"), False)
        equal([col["name"] for col in sa.inspect(e).get_columns("tag")], ["id", "name"])
    with e.begin() as c:
        c.execute(sa.text("create temporary table passing (a int) on commit drop"))
        c.execute(sa.text("insert into passing values (1)"))
    equal(sa.inspect(e).has_table("passing"), False)


@check
def broken_connections_are_replaced():
    e = fresh(pool_pre_ping=True, pool_size=2)
    with e.connect() as c, e.connect() as killer:
        victim = c.scalar(sa.text("select pg_backend_pid()"))
        c.rollback()
        killer.scalar(sa.text(f"select pg_terminate_backend({victim})"))
        error = raises(sa.exc.OperationalError, lambda: c.execute(sa.text("select 1")))
        equal(error.connection_invalidated, True)
    with orm.Session(e) as session:
        equal(session.scalar(sa.text("select 1")), 1)


@check
def the_end():
    Base.metadata.drop_all(sa.create_engine(url("psycopg")))


if __name__ == "__main__":
    check.main()
