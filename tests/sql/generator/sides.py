"""PostgreSQL and the engine in its modes, side by side: the same data, the same query, and what to say of the answers."""

import os
import re
from concurrent.futures import ThreadPoolExecutor

from . import tables
from .session import Prepared, Session
from .tree import Order, Select, Union, Writer

MODES = {
    "serial": "set execution_mode = serial", "static": "set execution_mode = static", "ooo": "set execution_mode = ooo",
    "little memory": "set execution_mode = ooo; set work_mem = '64kB'",
}
LIMIT_S = 5
# Who says nothing for so long, though the timeout of statements is over, hangs.
SILENCE_S = 60
# Queries that are on their way to each side at once, so that no side waits for the slowest of each query.
WINDOW = 25
# Types that differ by intent: varchar has no type of its own in results (docs/limits.md).
SAME_TYPES = {(1043, 25)}
# What only one side computes before it finds the row unwanted, and what depends on the order of evaluation.
EVALUATION = ("22", "21000")


class Verdict:
    """What a comparison came to: a `kind`, what is to be said, and whether it is a defect."""

    DEFECTS = {"rows", "order", "types", "parameters", "error", "server", "rows counted early"}

    def __init__(self, kind, said="", mode=""):
        self.kind, self.said, self.mode = kind, said, mode

    def is_defect(self):
        return self.kind in self.DEFECTS

    def same_as(self, other):
        """Whether this is the same defect: of an error the message counts, without the names in it."""
        errors = self.kind not in ("error", "refused") or shape(self.said) == shape(other.said)
        return self.kind == other.kind and errors


def shape(text):
    """A message without names and numbers."""
    return re.sub(r"\d+", "N", re.sub(r'"[^"]*"|\'[^\']*\'|\b[a-z]+\d+(\.\w+)?\b', "_", text))[:160]


def prepare(tree, style="literal", binary=False, binary_results=False):
    writer = Writer(style)
    return Prepared(tree.sql(writer), writer.parameters, style, binary, binary_results)


def order_of(tree):
    """By which places the rows are ordered, or `all` where their sequence is settled; None without an order."""
    order = tree.order if isinstance(tree, (Select, Union)) else None
    if not isinstance(order, Order):
        return None
    if order.is_total():
        return "all"
    names = [name for name, _ in tree.signature()]
    return None if order.keys else [at for at, _ in order.places(names)]


class Reference:
    """A session of PostgreSQL in a schema of its own. A statement has `limit_s` seconds."""

    def __init__(self, limit_s=LIMIT_S):
        self.limit_s, env = limit_s, os.environ.get
        user = env("PGUSER", "postgres")
        self.session = Session(int(env("PGPORT", "5432")), user=user, database=env("PGDATABASE", user))
        self.schema = f"compose_{os.getpid()}"
        self.session.query("set client_min_messages = error; set datestyle = iso; set jit = off")
        self.session.query(f"drop schema if exists {self.schema} cascade; create schema {self.schema}")
        self.session.query(f"set search_path = {self.schema}; {tables.DDL}")
        self.session.query(f"set statement_timeout = {int(limit_s * 1000)}")

    def close(self):
        self.session.query(f"drop schema {self.schema} cascade")
        self.session.close()


class Engine:
    """Sessions of one server, one for each mode. A statement has `limit_s` seconds. Column tables have no primary keys:
    theirs are unique columns without nulls."""

    def __init__(self, server, modes, limit_s=LIMIT_S, storage="row"):
        self.server, self.modes, self.limit_s, self.storage = server, modes, limit_s, storage
        self.ddl = tables.DDL if storage == "row" else tables.without_primary_keys()
        self.start()

    def start(self):
        port = self.server.__enter__()
        self.sessions = {mode: Session(port, timeout=SILENCE_S) for mode in self.modes}
        for mode, session in self.sessions.items():
            session.query(f"{MODES[mode]}; set statement_timeout = {int(self.limit_s * 1000)}")
        first = next(iter(self.sessions.values()))
        first.query(f"set default_table_storage = {self.storage}")
        first.query(self.ddl)

    def merge(self, names):
        """Rows go into chunks; those of one table stay as they came."""
        for table in set(names) - {"s"}:
            next(iter(self.sessions.values())).query(f"reorganize table {table}")

    def again(self):
        """After a crash."""
        self.server.__exit__()
        self.start()

    def close(self):
        self.server.__exit__()


class Sides:
    def __init__(self, reference, engine):
        self.reference, self.engine, self.data, self.zone = reference, engine, {}, "UTC"
        self.readers = ThreadPoolExecutor(1 + len(MODES))

    def close(self):
        self.readers.shutdown()
        self.engine.close()
        self.reference.close()

    def load(self, data, zone):
        """The same rows in the same time zone on all sides."""
        self.data, self.zone = data, zone
        sessions = [self.reference.session, *self.engine.sessions.values()]
        for session in sessions:
            session.query(f"set timezone = '{zone}'")
        for session in sessions[:2]:
            # The rows are moments: the zone of the session has no part in them.
            session.query("".join(f"delete from {table};" for table in data) + tables.inserts(data))
            if self.engine.storage == "column" and session is not self.reference.session:
                self.engine.merge(data)
            session.query("analyze")

    def ask(self, asked):
        """The answers of PostgreSQL and some modes to queries, each with its modes. The sides work at the same time."""
        sessions = {"PostgreSQL": self.reference.session, **self.engine.sessions}
        own = {name: [at for at, (_, modes) in enumerate(asked) if name == "PostgreSQL" or name in modes]
               for name in sessions}
        for name, session in sessions.items():
            session.send(*[asked[at][0] for at in own[name]])
        receive = lambda name: {at: sessions[name].receive() for at in own[name]}
        received = dict(zip(sessions, self.readers.map(receive, sessions)))
        return [{name: held[at] for name, held in received.items() if at in held} for at in range(len(asked))]

    def compare(self, tree, how, modes=None):
        """The first verdict that is a defect, else the first that is not `same`, else `same`; and the query."""
        query = prepare(tree, *how)
        try:
            answers = self.ask([(query, modes or self.engine.modes)])[0]
        except (EOFError, OSError) as gone:
            self.again()
            return Verdict("server", f"the server ended: {gone}"), query, {}
        return self.verdict(tree, answers), query, answers

    def compare_all(self, cases, every=1):
        """The verdicts of many, which are on their way at the same time. All modes are asked every so many queries,
        the others one mode in turn."""
        turn = lambda number: self.engine.modes[number % len(self.engine.modes)]
        modes = lambda number: self.engine.modes if number % every == 0 else [turn(number)]
        verdicts = []
        for start in range(0, len(cases), WINDOW):
            some = cases[start : start + WINDOW]
            try:
                answers = self.ask([(prepare(case.tree, *case.how), modes(case.number)) for case in some])
                verdicts += [self.verdict(case.tree, held) for case, held in zip(some, answers)]
            except (EOFError, OSError):
                # One of them ended a server: which, is seen when they come alone.
                self.again()
                alone = [self.compare(case.tree, case.how)[0] for case in some]
                if all(verdict.kind != "server" for verdict in alone):
                    alone[-1] = Verdict("server", "the server ended in a window, for no query of it alone")
                verdicts += alone
        return verdicts

    def verdict(self, tree, answers):
        theirs, order = answers["PostgreSQL"], order_of(tree)
        verdicts = [judge(theirs, ours, order, mode) for mode, ours in answers.items() if mode != "PostgreSQL"]
        chosen = [v for v in verdicts if v.is_defect()] or [v for v in verdicts if v.kind != "same"] or verdicts
        return chosen[0]

    def again(self):
        """After a crash."""
        self.engine.again()
        self.reference.session.close()
        self.reference = Reference(self.reference.limit_s)
        self.load(self.data, self.zone)


def judge(theirs, ours, order, mode):
    if theirs.error:
        return Verdict(*judge_refused(theirs, ours), mode)
    if ours.error:
        return Verdict(*judge_error(ours.error), mode)
    if theirs.parameters == ours.parameters and theirs.is_byte_by_byte(ours, bool(order)):
        return Verdict("same", "", mode)
    if sorted(map(repr, theirs.rows)) != sorted(map(repr, ours.rows)):
        return Verdict("rows", "", mode)
    if order and not same_order(theirs.rows, ours.rows, order):
        return Verdict("order", "", mode)
    if any(a != b and (a, b) not in SAME_TYPES for a, b in zip(theirs.types, ours.types)):
        return Verdict("types", f"{theirs.types} of PostgreSQL, {ours.types} here", mode)
    if theirs.parameters != ours.parameters and any(
            a != b and (a, b) not in SAME_TYPES for a, b in zip(theirs.parameters, ours.parameters)):
        return Verdict("parameters", f"{theirs.parameters} of PostgreSQL, {ours.parameters} here", mode)
    return Verdict("same", "", mode)


def judge_refused(theirs, ours):
    """PostgreSQL gives an error."""
    if theirs.error.state == "57014":
        return "slow", "in PostgreSQL"
    if ours.error:
        return "both refuse", ""
    if theirs.error.state.startswith(EVALUATION):
        return "evaluation", str(theirs.error)
    return "taken here", str(theirs.error)


def judge_error(error):
    """PostgreSQL gives rows, the engine an error."""
    if error.state == "0A000":
        return "refused", str(error)
    if error.state == "57014":
        return "slow", str(error)
    if error.state == "53200":
        return "memory", str(error)
    if error.state == "21000":
        # In part what docs/limits.md says of subqueries in WHERE and ON; counted as different all the same.
        return "rows counted early", str(error)
    return ("evaluation" if error.state.startswith("22") else "error"), str(error)


def same_order(theirs, ours, order):
    if order == "all":
        return theirs == ours
    cut = lambda rows: [[row[at] for at in order] for row in rows]
    return cut(theirs) == cut(ours)
