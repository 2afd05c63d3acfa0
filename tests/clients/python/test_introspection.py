"""What tools ask when they connect or draw their tree: those that the files are named after. The
statements are those that the tools send; a check passes when the server answers, with the columns
that the tool reads."""

import pathlib
import re

import psycopg

from checks import Checks

check = Checks("-")
HERE = pathlib.Path(__file__).parent.parent / "introspection"

SCHEMA = """
drop table if exists line; drop table if exists invoice;
create table invoice (id serial primary key, customer varchar(40) not null, total numeric(12,2)
  default 0 check (total >= 0), made timestamp, unique (customer, made));
create table line (invoice_id int references invoice (id) on delete cascade, n int, note text,
  primary key (invoice_id, n));
create index line_note on line (note);
"""


def statements(path):
    """The statements of a file; `-- name: columns` above one says what its result must have."""
    for part in re.split(r"(?m)^-- ", path.read_text())[1:]:
        head, _, text = part.partition("\n")
        name, _, columns = head.partition(":")
        yield name.strip(), columns.split(), text.strip().rstrip(";")


def ask_all(path):
    failed = []
    with psycopg.connect("", autocommit=True) as c:
        c.execute("set client_min_messages = warning")
        for statement in SCHEMA.split(";"):
            if statement.strip():
                c.execute(statement)
        for name, columns, text in statements(path):
            try:
                cursor = c.execute(text)
                found = [d.name for d in cursor.description or []]
                if columns and found != columns:
                    failed.append(f"{name}: columns {found}")
            except psycopg.Error as error:
                failed.append(f"{name}: {' '.join(str(error).split())[:120]}")
        c.execute("drop table line")
        c.execute("drop table invoice")
    if failed:
        raise AssertionError(f"{len(failed)} refused: " + "; ".join(failed))


def register(path):
    def run():
        ask_all(path)
    run.__name__ = path.stem
    check(run)


for file in sorted(HERE.glob("*.sql")):
    register(file)


if __name__ == "__main__":
    check.main()
