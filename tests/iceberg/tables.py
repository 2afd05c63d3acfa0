#!/usr/bin/env python3
"""Writes tables of Iceberg with pyiceberg, and what queries of them give by pyiceberg's own scans.

    tables.py FOLDER           the tables of the tests, and FOLDER/queries.tsv: a query and its rows in each line
    tables.py FOLDER SEED N    N tables drawn from a seed instead

The tables are written below /tmp/lake, so that metadata names nobody's folders, and are then moved to FOLDER.
pyiceberg writes no delete files, and reads those by position alone. They are written here by its own writers of
manifests; what remains is computed from the rules of the specification (`survivors`).
"""

import datetime
import decimal
import glob
import json
import os
import random
import re
import shutil
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg import manifest as m
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

LAKE = "/tmp/lake"
DAY = datetime.date(2024, 2, 28)
MOMENT = datetime.datetime(2024, 2, 28, 22, 0, 0)


def shown(value):
    """A value as COPY writes it to CSV."""
    if value is None:
        return ""
    if value == "":
        return '""'
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, datetime.datetime):
        zone = "+00" if value.tzinfo else ""
        text = value.replace(tzinfo=None).isoformat(sep=" ")
        return (text.rstrip("0") if "." in text else text) + zone
    if isinstance(value, datetime.time):
        text = value.isoformat()
        return text.rstrip("0") if "." in text else text
    return str(value)


def for_pyiceberg(where):
    """A condition in pyiceberg's words: moments are texts with a T."""
    where = re.sub(r"timestamp '(\S+) (\S+)'", r"'\1T\2'", where)
    return where.replace("date '", "'")


class Lake:
    def __init__(self, folder):
        shutil.rmtree(LAKE, ignore_errors=True)
        os.makedirs(LAKE)
        self.catalog = SqlCatalog("lake", uri="sqlite:///:memory:", warehouse=f"file://{LAKE}")
        self.catalog.create_namespace("t")
        self.folder = folder
        self.lines = []
        self.names = []

    def create(self, name, schema, spec=None, codec="gzip", version=2):
        self.names.append(name)
        args = {"partition_spec": spec} if spec else {}
        args["properties"] = {"write.avro.compression-codec": codec, "format-version": str(version)}
        location = f"file://{LAKE}/{name}"
        return self.catalog.create_table(f"t.{name}", schema=schema, location=location, **args)

    def expect(self, name, columns, where, rows, options=""):
        """What a query gives, in order of its first column."""
        where = f" where {where}" if where else ""
        query = (
            f"select {', '.join(columns)} from iceberg_scan('@/{name}', "
            f"allow_moved_paths => true{options}){where} order by {columns[0]}"
        )
        key = lambda row: (row[0] is None, row[0] if row[0] is not None else 0)
        rows = [",".join(shown(value) for value in row) for row in sorted(rows, key=key)]
        self.lines.append(f"{query}\t{';'.join(rows)}")

    def ask(self, table, name, columns, where="", snapshot=None, options=""):
        """The same by pyiceberg's scan."""
        args = {"snapshot_id": snapshot} if snapshot else {}
        filter = {"row_filter": for_pyiceberg(where)} if where else {}
        scan = table.scan(selected_fields=tuple(columns), **filter, **args)
        found = scan.to_arrow().select(columns).to_pylist()
        if snapshot:
            options += f", snapshot_from_id => '{snapshot}'"
        self.expect(name, columns, where, [list(row.values()) for row in found], options)

    def move(self):
        os.makedirs(self.folder, exist_ok=True)
        for name in self.names:
            target = os.path.join(self.folder, name)
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(os.path.join(LAKE, name), target)
            # Earlier metadata is asked for in one of them; it would be a third of all bytes.
            versions = sorted(glob.glob(f"{target}/metadata/*.metadata.json"))
            for old in versions[:-1] if name != "evolved" else []:
                os.remove(old)
        with open(os.path.join(self.folder, "queries.tsv"), "w") as out:
            out.write("\n".join(self.lines) + "\n")
        shutil.rmtree(LAKE)


def arrow(table, rows):
    schema = table.schema().as_arrow()
    return pa.Table.from_pylist(rows, schema=schema)


class DeleteWriter(m.ManifestWriterV2):
    """pyiceberg's writer of manifests, for files of deletes."""

    def content(self):
        return m.ManifestContent.DELETES

    @property
    def _meta(self):
        return {**super()._meta, "content": "deletes"}


def with_ids(columns):
    """Arrow fields with the ids of their columns: (name, type, id)."""
    metadata = lambda id: {"PARQUET:field_id": str(id)}
    return pa.schema([pa.field(name, ty, metadata=metadata(id)) for name, ty, id in columns])


def written_file(table, name, schema, rows, content, equality_ids=None, partition=None, spec_id=0):
    """Writes a file of rows or deletes; its entry in a manifest."""
    path = f"{table.location()}/data/{name}.parquet"
    os.makedirs(os.path.dirname(path.removeprefix("file://")), exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path.removeprefix("file://"))
    file = m.DataFile.from_args(
        content=content,
        file_path=path,
        file_format=m.FileFormat.PARQUET,
        partition=Record(*(partition or [])),
        record_count=len(rows),
        file_size_in_bytes=os.path.getsize(path.removeprefix("file://")),
        column_sizes={}, value_counts={}, null_value_counts={}, nan_value_counts={},
        lower_bounds={}, upper_bounds={},
        equality_ids=equality_ids,
    )
    file.spec_id = spec_id
    return file


POSITIONS = with_ids([("file_path", pa.string(), 2147483546), ("pos", pa.int64(), 2147483545)])


def positions(table, name, rows, **where):
    rows = [{"file_path": path, "pos": pos} for path, pos in rows]
    return written_file(table, name, POSITIONS, rows, m.DataFileContent.POSITION_DELETES, **where)


def equalities(table, name, columns, rows, **where):
    ids = [id for _, _, id in columns]
    rows = [dict(zip([name for name, _, _ in columns], row)) for row in rows]
    content = m.DataFileContent.EQUALITY_DELETES
    return written_file(table, name, with_ids(columns), rows, content, equality_ids=ids, **where)


def commit_deletes(catalog, table, files):
    """A snapshot that adds files of deletes."""
    return commit(catalog, table, files, DeleteWriter)


def commit(catalog, table, files, kind=m.ManifestWriterV2):
    """A snapshot that adds files, by a manifest of this kind. The catalog is given its metadata."""
    metadata = json.loads(table.metadata.model_dump_json())
    snapshot_id, sequence = random.getrandbits(62), metadata["last-sequence-number"] + 1
    base, parent = table.location() + "/metadata/", table.current_snapshot()
    codec = table.properties["write.avro.compression-codec"].replace("gzip", "deflate")
    by_spec = {}
    for file in files:
        by_spec.setdefault(file.spec_id, []).append(file)
    manifests = list(parent.manifests(table.io)) if parent else []
    parent_id = parent.snapshot_id if parent else None
    for spec_id, files in by_spec.items():
        output = table.io.new_output(f"{base}{uuid.uuid4()}-m0.avro")
        spec = table.specs()[spec_id]
        with kind(spec, table.schema(), output, snapshot_id, codec) as writer:
            for file in files:
                writer.add(m.ManifestEntry.from_args(
                    status=m.ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=file))
        manifests.append(writer.to_manifest_file())
    path = f"{base}snap-{snapshot_id}.avro"
    output = table.io.new_output(path)
    with m.write_manifest_list(2, output, snapshot_id, parent_id, sequence, codec) as writer:
        writer.add_manifests(manifests)
    time = metadata["last-updated-ms"] + 1
    metadata["snapshots"].append({
        "snapshot-id": snapshot_id, **({"parent-snapshot-id": parent_id} if parent else {}),
        "sequence-number": sequence, "timestamp-ms": time, "manifest-list": path,
        "summary": {"operation": "delete"}, "schema-id": metadata["current-schema-id"]})
    metadata["snapshot-log"].append({"snapshot-id": snapshot_id, "timestamp-ms": time})
    metadata.update({"last-sequence-number": sequence, "current-snapshot-id": snapshot_id,
                     "last-updated-ms": time})
    metadata["refs"] = {"main": {"snapshot-id": snapshot_id, "type": "branch"}}
    old = os.path.basename(table.metadata_location)
    new = f"{base}{int(old.split('-')[0]) + 1:05}-{uuid.uuid4()}.metadata.json"
    with open(new.removeprefix("file://"), "w") as out:
        json.dump(metadata, out)
    name = table.name()[-1]
    catalog.drop_table(f"t.{name}")
    return catalog.register_table(f"t.{name}", new)


def data_files(table):
    """Path, partition and rows with positions of all data files, and their sequence numbers."""
    found = []
    for manifest in table.current_snapshot().manifests(table.io):
        if manifest.content == m.ManifestContent.DATA:
            for entry in manifest.fetch_manifest_entry(table.io):
                path = entry.data_file.file_path
                rows = pq.read_table(path.removeprefix("file://"), partitioning=None).to_pylist()
                found.append((path, list(entry.data_file.partition), rows, entry.sequence_number))
    return found


def types(lake):
    table = lake.create("types", Schema(
        NestedField(1, "id", IntegerType(), required=True),
        NestedField(2, "b", BooleanType()), NestedField(3, "l", LongType()),
        NestedField(4, "f", FloatType()), NestedField(5, "d", DoubleType()),
        NestedField(6, "n", DecimalType(9, 2)), NestedField(7, "w", DecimalType(38, 10)),
        NestedField(8, "da", DateType()), NestedField(9, "ti", TimeType()),
        NestedField(10, "ts", TimestampType()), NestedField(11, "tz", TimestamptzType()),
        NestedField(12, "s", StringType()), NestedField(13, "u", UUIDType()),
        NestedField(14, "x", FixedType(3)), NestedField(15, "y", BinaryType()),
        NestedField(16, "list", ListType(17, IntegerType(), element_required=False)),
        NestedField(18, "st", StructType(NestedField(19, "a", IntegerType()))),
    ), codec="null")
    utc = datetime.timezone.utc
    full = dict(id=1, b=True, l=-(2**63), f=1.5, d=-0.25, n=decimal.Decimal("-1234567.89"),
                w=decimal.Decimal("1234567890123456789012345678.0123456789"), da=DAY,
                ti=datetime.time(1, 2, 3, 456789), ts=MOMENT, tz=MOMENT.replace(tzinfo=utc),
                s="Grüße", u=uuid.UUID(int=7).bytes, x=b"\x00\x01\xff", y=b"\xde\xad",
                list=[1, 2], st={"a": 1})
    table.append(arrow(table, [full, dict(id=2)]))
    columns = [f.name for f in table.schema().fields if f.name not in ("list", "st", "u")]
    lake.ask(table, "types", columns)
    lake.expect("types", ["id", "u"], "", [(1, str(uuid.UUID(int=7))), (2, None)])
    for where in ["n < 0", "da = date '2024-02-28'", "ts > timestamp '2024-02-28 21:59:59'",
                  "s = 'Grüße'", "l is null", "b = true", "w > 5"]:
        lake.ask(table, "types", ["id"], where)


def evolved(lake):
    table = lake.create("evolved", Schema(
        NestedField(1, "id", IntegerType()), NestedField(2, "name", StringType()),
        NestedField(3, "f", FloatType()), NestedField(4, "n", DecimalType(9, 2)),
        NestedField(5, "gone", StringType()), NestedField(6, "v", IntegerType()),
    ), codec="zstandard")
    number = decimal.Decimal
    table.append(arrow(table, [dict(id=i, name=f"a{i}", f=i / 4, n=number(i) / 4, gone="x", v=i)
                               for i in range(1, 5)]))
    first = table.current_snapshot().snapshot_id
    with table.update_schema() as update:
        update.update_column("id", field_type=LongType())
        update.update_column("f", field_type=DoubleType())
        update.update_column("n", field_type=DecimalType(18, 2))
        update.rename_column("name", "title")
        update.delete_column("gone")
        update.delete_column("v")
        update.add_column("added", StringType())
    with table.update_schema() as update:
        # Another column of the same name.
        update.add_column("gone", LongType())
        update.rename_column("f", "name")
        update.move_first("title")
    table.append(arrow(table, [dict(id=2**40 + i, title=f"b{i}", name=0.125, n=number("123456789012.25"),
                                    added="new", gone=7 * i) for i in range(1, 4)]))
    columns = ["id", "title", "name", "n", "added", "gone"]
    lake.ask(table, "evolved", columns)
    lake.ask(table, "evolved", ["id", "name", "f", "n", "gone", "v"], snapshot=first)
    for where in ["id > 3", "id >= 1099511627777", "gone > 7", "gone is null", "added is not null",
                  "n > 100", "title = 'a2'"]:
        lake.ask(table, "evolved", columns, where)
    at = (table.metadata.snapshot_log[0].timestamp_ms + 1) / 1000
    at = datetime.datetime.fromtimestamp(at, datetime.timezone.utc).isoformat(sep=" ")
    rows = table.scan(snapshot_id=first, selected_fields=("id",)).to_arrow().to_pylist()
    if table.metadata.snapshot_log[1].timestamp_ms > table.metadata.snapshot_log[0].timestamp_ms + 1:
        rows = [[row["id"]] for row in rows]
        lake.expect("evolved", ["id"], "", rows, f", snapshot_from_timestamp => '{at}'")


def parted(lake):
    spec = PartitionSpec(
        PartitionField(1, 1000, BucketTransform(4), "id_bucket"),
        PartitionField(2, 1001, IdentityTransform(), "kind"),
    )
    table = lake.create("parted", Schema(
        NestedField(1, "id", LongType()), NestedField(2, "kind", StringType()),
        NestedField(3, "day", DateType()), NestedField(4, "at", TimestampType()),
    ), spec)
    kinds = ["a", "b", None]
    row = lambda i: dict(id=i, kind=kinds[i % 3], day=DAY + datetime.timedelta(days=i % 5 - 2),
                         at=MOMENT + datetime.timedelta(hours=i))
    table.append(arrow(table, [row(i) for i in range(12)]))
    with table.update_spec() as update:
        update.remove_field("id_bucket")
        update.add_field("day", DayTransform(), "day_day")
        update.add_field("at", MonthTransform(), "at_month")
    table.append(arrow(table, [row(i) for i in range(12, 17)]))
    columns = ["id", "kind", "day", "at"]
    for where in ["", "id = 5", "id = 15", "id in (3, 14)", "kind = 'a'", "kind is null", "kind is not null",
                  "kind = 'zz'", "day = date '2024-02-27'", "day > date '2024-02-28'",
                  "at < timestamp '2024-02-29 03:00:00'", "at >= timestamp '2024-03-01 00:00:00'",
                  "id = 7 and kind = 'b'"]:
        lake.ask(table, "parted", columns, where)


def first_version(lake):
    """A table of version 1 of the format, which was partitioned later."""
    table = lake.create("first_version", Schema(
        NestedField(1, "id", LongType()), NestedField(2, "kind", StringType())), version=1)
    table.append(arrow(table, [dict(id=i, kind="ab"[i % 2]) for i in range(3)]))
    with table.update_spec() as update:
        update.add_field("kind", IdentityTransform(), "kind_same")
    table.append(arrow(table, [dict(id=i, kind="ab"[i % 2]) for i in range(3, 6)]))
    for where in ["", "kind = 'a'", "id > 3"]:
        lake.ask(table, "first_version", ["id", "kind"], where)


def mapped(lake):
    """A file that others wrote has no ids; the table says which names are which columns."""
    table = lake.create("mapped", Schema(
        NestedField(1, "id", LongType()), NestedField(2, "kind", StringType())))
    path = f"{LAKE}/mapped/data/others.parquet"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pq.write_table(pa.table({"kind": ["x", "y"], "id": [1, 2]}), path)
    table.add_files([f"file://{path}"])
    with table.update_schema() as update:
        update.rename_column("kind", "sort")
    with table.update_schema() as update:
        update.add_column("added", LongType())
    table.append(arrow(table, [dict(id=3, sort="z", added=7)]))
    for where in ["", "sort = 'x'", "added is null"]:
        lake.ask(table, "mapped", ["id", "sort", "added"], where)


def deleted(lake):
    """Deletes by position and by value, of rows before them and not of rows after them."""
    table = lake.create("deleted", Schema(
        NestedField(1, "id", IntegerType()), NestedField(2, "kind", StringType()),
        NestedField(3, "old", LongType()),
    ), codec="null")
    rows = lambda ids: [dict(id=i, kind=["a", "b", None][i % 3], old=i % 4) for i in ids]
    table.append(arrow(table, rows(range(10))))
    (path, _, _, _), = data_files(table)
    table = commit_deletes(lake.catalog, table, [
        positions(table, "p1", [(path, 1), (path, 8)]),
        positions(table, "p2", [(path, 1), (path, 3), ("file:///tmp/lake/other.parquet", 0)]),
    ])
    with_positions = table.current_snapshot().snapshot_id
    lake.ask(table, "deleted", ["id", "kind"], snapshot=with_positions)
    with table.update_schema() as update:
        update.update_column("id", field_type=LongType())
        update.delete_column("old")
    table = lake.catalog.load_table("t.deleted")
    string, integer = pa.string(), pa.int32()
    table = commit_deletes(lake.catalog, table, [
        # A null deletes nulls, and an older type has the same values.
        equalities(table, "e1", [("id", integer, 1), ("kind", string, 2)], [(2, None), (4, "a"), (99, "b")]),
        # The table has this column no more.
        equalities(table, "e2", [("old", pa.int64(), 3)], [(2,)]),
    ])
    table.append(arrow(table, [dict(id=i, kind=["a", "b", None][i % 3]) for i in [2, 4, 6, 20]]))
    # Row 2 of position 2 and 6 of value 2 went before the second file came.
    first = [r for r in rows(range(10)) if r["id"] not in (1, 3, 8) and r["id"] != 2 and r["old"] != 2]
    last = [dict(id=i, kind=["a", "b", None][i % 3]) for i in [2, 4, 6, 20]]
    survivors = [(r["id"], r["kind"]) for r in first + last]
    lake.expect("deleted", ["id", "kind"], "", survivors)
    lake.expect("deleted", ["kind", "id"], "id > 8", [(k, i) for i, k in survivors if i > 8])
    lake.expect("deleted", ["count(*)"], "", [(len(survivors),)])


def deleted_parted(lake):
    """Deletes count in their own partition; those of a table without partitions in all of them."""
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "kind"))
    table = lake.create("deleted_parted", Schema(
        NestedField(1, "id", IntegerType()), NestedField(2, "kind", StringType()),
    ), spec)
    all = [dict(id=i, kind="ab"[i % 2]) for i in range(8)] + [dict(id=i, kind="ab"[i % 2]) for i in (101, 104)]
    table.append(arrow(table, all))
    files = {partition[0]: (path, rows) for path, partition, rows, _ in data_files(table)}
    path, rows = files["a"]
    table = commit_deletes(lake.catalog, table, [
        positions(table, "p", [(path, 1)], partition=["a"]),
        equalities(table, "e", [("id", pa.int32(), 1)], [(3,), (6,)], partition=["b"]),
    ])
    gone = {rows[1]["id"], 3}
    lake.expect("deleted_parted", ["id", "kind"], "", [(r["id"], r["kind"]) for r in all if r["id"] not in gone],
                f", snapshot_from_id => '{table.current_snapshot().snapshot_id}'")
    with table.update_spec() as update:
        update.remove_field("kind")
    table = lake.catalog.load_table("t.deleted_parted")
    spec_id = table.spec().spec_id
    table = commit_deletes(lake.catalog, table, [
        equalities(table, "g", [("id", pa.int32(), 1)], [(101,), (6,)], spec_id=spec_id)])
    gone |= {101, 6}
    lake.expect("deleted_parted", ["id", "kind"], "", [(r["id"], r["kind"]) for r in all if r["id"] not in gone])


def deleted_promoted(lake):
    """Partitions by columns that became wider between the rows and their deletes: the values are the same."""
    spec = PartitionSpec(
        PartitionField(2, 1000, IdentityTransform(), "n"), PartitionField(3, 1001, IdentityTransform(), "i"),
        PartitionField(4, 1002, IdentityTransform(), "f"))
    table = lake.create("deleted_promoted", Schema(
        NestedField(1, "id", IntegerType()), NestedField(2, "n", DecimalType(9, 2)),
        NestedField(3, "i", IntegerType()), NestedField(4, "f", FloatType()),
    ), spec)
    number = decimal.Decimal
    parts = [[number("-1.25"), -1, -0.5], [number("123456.75"), 0, 2.25], [None, 1, None]]
    rows = [dict(id=i, **dict(zip("nif", parts[i % 3]))) for i in range(12)]
    table.append(arrow(table, rows))
    first = table.current_snapshot().snapshot_id
    with table.update_schema() as update:
        update.update_column("n", field_type=DecimalType(18, 2))
        update.update_column("i", field_type=LongType())
        update.update_column("f", field_type=DoubleType())
    table = lake.catalog.load_table("t.deleted_promoted")
    files = {str(part[0]): (path, rows) for path, part, rows, _ in data_files(table)}
    (path, own), id = files["-1.25"], [("id", pa.int32(), 1)]
    table = commit_deletes(lake.catalog, table, [
        positions(table, "p", [(path, 1)], partition=parts[0]),
        # Those of other partitions do not count.
        equalities(table, "e1", id, [(4,), (3,), (2,)], partition=parts[1]),
        equalities(table, "e2", id, [(5,), (7,)], partition=parts[2]),
    ])
    columns = ["id", "n", "i", "f"]
    lake.ask(table, "deleted_promoted", columns, snapshot=first)
    gone = {own[1]["id"], 4, 5}
    left = [r for r in rows if r["id"] not in gone]
    values = lambda rows: [[row[name] for name in columns] for row in rows]
    lake.expect("deleted_promoted", columns, "", values(left))
    lake.expect("deleted_promoted", columns, "n = 123456.75", values(r for r in left if r["i"] == 0))
    lake.expect("deleted_promoted", columns, "f < 0", values(r for r in left if r["i"] == -1))


def migrated(lake):
    """Files that do not have the columns of their partitions, as Hive writes them, and dates before 1970."""
    names = {"n": DecimalType(9, 2), "i": IntegerType(), "f": FloatType(), "day": DateType()}
    fields = [NestedField(2 + at, name, ty) for at, (name, ty) in enumerate(names.items())]
    spec = PartitionSpec(*(PartitionField(2 + at, 1000 + at, IdentityTransform(), name)
                           for at, name in enumerate(names)))
    table = lake.create("migrated", Schema(NestedField(1, "id", IntegerType()), *fields), spec)
    number, date = decimal.Decimal, datetime.date
    parts = [[number("-0.01"), -(2**31), 0.1, date(1969, 12, 31)], [number("9999999.99"), 7, -1.5, date(1582, 10, 4)],
             [None, None, None, None]]
    ids = with_ids([("id", pa.int32(), 1)])
    files = [written_file(table, f"f{at}", ids, [{"id": 2 * at}, {"id": 2 * at + 1}], m.DataFileContent.DATA,
                          partition=[n, i, f, day and (day - date(1970, 1, 1)).days])
             for at, (n, i, f, day) in enumerate(parts)]
    table = commit(lake.catalog, table, files)
    first = table.current_snapshot().snapshot_id
    with table.update_schema() as update:
        update.update_column("n", field_type=DecimalType(18, 2))
        update.update_column("i", field_type=LongType())
        update.update_column("f", field_type=DoubleType())
    table = lake.catalog.load_table("t.migrated")
    # They are the nearest of 32 bits, now in 64.
    float32 = lambda value: value if value is None else pa.scalar(value, pa.float32()).cast(pa.float64()).as_py()
    columns, later = ["id", *names], [[n, i, float32(f), day] for n, i, f, day in parts]
    rows = lambda parts: [[at, *parts[at // 2]] for at in range(6)]
    lake.expect("migrated", columns, "", rows(parts), f", snapshot_from_id => '{first}'")
    lake.expect("migrated", columns, "", rows(later))
    lake.expect("migrated", columns, "day < date '1600-01-01'", rows(later)[2:4])
    lake.expect("migrated", columns, "n < 0 and i < -7", rows(later)[:2])
    lake.expect("migrated", columns, "day is null", rows(later)[4:])


def parted_early(lake):
    """Partitions of moments before 1970, and of nulls."""
    spec = PartitionSpec(
        PartitionField(3, 1000, DayTransform(), "day_day"), PartitionField(2, 1001, BucketTransform(3), "kind_bucket"))
    table = lake.create("parted_early", Schema(
        NestedField(1, "id", LongType()), NestedField(2, "kind", StringType()),
        NestedField(3, "day", DateType()), NestedField(4, "at", TimestampType()),
    ), spec)
    days = [datetime.date(1969, 12, 31), datetime.date(1970, 1, 1), datetime.date(1960, 2, 29),
            datetime.date(1, 1, 1), None]
    moments = [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(1970, 1, 1),
               datetime.datetime(1968, 12, 31, 23, 30), datetime.datetime(1969, 1, 1), None]
    row = lambda i: dict(id=i, kind=["a", None, "b"][i % 3], day=days[i % 5], at=moments[(i // 2) % 5])
    table.append(arrow(table, [row(i) for i in range(10)]))
    for remove, column, transform in [("day_day", "at", MonthTransform()), ("m", "at", YearTransform()),
                                      ("y", "at", HourTransform())]:
        with table.update_spec() as update:
            update.remove_field(remove)
            update.add_field(column, transform, {"month": "m", "year": "y", "hour": "h"}[str(transform)])
        begin = 10 * (1 + ["m", "y", "h"].index({"month": "m", "year": "y", "hour": "h"}[str(transform)]))
        table.append(arrow(table, [row(i) for i in range(begin, begin + 10)]))
    columns = ["id", "kind", "day", "at"]
    for where in ["", "day = date '1969-12-31'", "day < date '1970-01-01'", "day >= date '1970-01-01'",
                  "day = date '0001-01-01'", "day is null", "kind is null", "kind = 'a'", "kind = 'b' and day is null",
                  "at = timestamp '1969-12-31 23:59:59.999999'", "at < timestamp '1970-01-01 00:00:00'",
                  "at >= timestamp '1970-01-01 00:00:00'", "at < timestamp '1969-01-01 00:00:00'",
                  "at = timestamp '1969-01-01 00:00:00'", "at is null"]:
        lake.ask(table, "parted_early", columns, where)


def upgraded(lake):
    """A table of version 1 that became one of version 2: its first files have no sequence numbers."""
    table = lake.create("upgraded", Schema(
        NestedField(1, "id", IntegerType()), NestedField(2, "kind", StringType())),
        PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "kind")), version=1)
    rows = lambda ids: [dict(id=i, kind="abc"[i % 3]) for i in ids]
    table.append(arrow(table, rows(range(9))))
    # Two of three files of a manifest go on to exist in another one.
    table.delete("id = 4")
    with table.transaction() as change:
        change.upgrade_table_version(2)
    table = lake.catalog.load_table("t.upgraded")
    table.append(arrow(table, rows([0, 20])))
    lake.ask(table, "upgraded", ["id", "kind"], snapshot=table.current_snapshot().snapshot_id)
    path, = [path for path, part, rows, _ in data_files(table) if part == ["c"] and len(rows) == 3]
    table = commit_deletes(lake.catalog, table, [
        positions(table, "p", [(path, 0)], partition=["c"]),
        equalities(table, "e", [("id", pa.int32(), 1)], [(3,)], partition=["a"])])
    left = [r for r in rows([*range(9), 0, 20]) if r["id"] not in (2, 3, 4)]
    lake.expect("upgraded", ["id", "kind"], "", [(r["id"], r["kind"]) for r in left])
    lake.expect("upgraded", ["id", "kind"], "kind = 'c'", [(r["id"], r["kind"]) for r in left if r["kind"] == "c"])


def drawn(lake, seed, count):
    """Tables from a seed: partitioned, changed, deleted from and asked in many ways."""
    draw = random.Random(seed)
    transforms = [
        lambda: [], lambda: [(1, BucketTransform(draw.randint(2, 6)))],
        lambda: [(1, TruncateTransform(draw.randint(2, 50)))], lambda: [(2, IdentityTransform())],
        lambda: [(2, TruncateTransform(1)), (1, BucketTransform(3))], lambda: [(3, DayTransform())],
        lambda: [(4, MonthTransform()), (2, IdentityTransform())], lambda: [(4, DayTransform())],
    ]
    for number in range(count):
        name = f"drawn{number}"
        fields = [PartitionField(source, 1000 + at, transform, f"p{at}")
                  for at, (source, transform) in enumerate(draw.choice(transforms)())]
        table = lake.create(name, Schema(
            NestedField(1, "id", IntegerType()), NestedField(2, "kind", StringType()),
            NestedField(3, "day", DateType()), NestedField(4, "at", TimestampType()),
            NestedField(5, "n", DecimalType(9, 2)), NestedField(6, "v", IntegerType()),
        ), PartitionSpec(*fields))
        v, changed = "v", False

        def row(i):
            maybe = lambda value: None if draw.random() < 0.1 else value
            return {"id": i, "kind": maybe(draw.choice(["ab", "ac", "b", "Ä", ""])),
                    "day": maybe(DAY + datetime.timedelta(days=draw.randint(-20000, 100))),
                    "at": maybe(MOMENT + datetime.timedelta(minutes=draw.randint(-(10**7), 10**6))),
                    "n": maybe(decimal.Decimal(draw.randint(-1000, 1000)) / 4), v: maybe(draw.randint(0, 9))}

        last = 0
        for _ in range(draw.randint(1, 4)):
            size = draw.randint(1, 60)
            table.append(arrow(table, [row(last + i) for i in range(size)]))
            last += size
            if draw.random() < 0.4 and not changed:
                with table.update_schema() as update:
                    update.update_column("v", field_type=LongType())
                    update.rename_column("v", "w")
                    update.add_column("extra", StringType())
                v, changed = "w", True
            if draw.random() < 0.3:
                table.delete(f"id >= {draw.randint(0, last)} and id < {draw.randint(0, last)}")
        if draw.random() < 0.5:
            files = [positions(table, f"p{at}", sorted({(path, draw.randrange(len(rows))) for _ in range(3)}),
                               partition=partition, spec_id=0)
                     for at, (path, partition, rows, _) in enumerate(data_files(table)) if rows]
            if files:
                table = commit_deletes(lake.catalog, table, files)
        columns = ["id", "kind", "day", "at", "n", v]
        lake.ask(table, name, columns)
        for _ in range(12):
            day = DAY + datetime.timedelta(days=draw.randint(-20000, 100))
            at = MOMENT + datetime.timedelta(minutes=draw.randint(-(10**7), 10**6))
            where = draw.choice([
                f"id = {draw.randint(0, last)}", f"id > {draw.randint(0, last)}",
                f"id in ({draw.randint(0, last)}, {draw.randint(0, last)})", f"{v} = {draw.randint(0, 9)}",
                f"kind = '{draw.choice(['ab', 'b', 'Ä', 'zz'])}'", "kind is null", "day is not null",
                f"day >= date '{day}'", f"day < date '{day}'", f"at > timestamp '{at}'",
                f"at <= timestamp '{at}'", f"n < {draw.randint(-250, 250)}",
                f"kind >= 'ac' and day < date '{day}'"])
            lake.ask(table, name, columns, where)


def main():
    lake = Lake(sys.argv[1])
    random.seed(1)
    if len(sys.argv) > 2:
        drawn(lake, int(sys.argv[2]), int(sys.argv[3]))
    else:
        for make in (types, evolved, parted, first_version, mapped, deleted, deleted_parted, deleted_promoted,
                     migrated, parted_early, upgraded):
            make(lake)
    lake.move()


if __name__ == "__main__":
    main()
