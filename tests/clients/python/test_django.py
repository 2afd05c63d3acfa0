"""Django: its schema editor, its ORM, `inspectdb`, over psycopg in autocommit."""

import io
import os

import django
from django.conf import settings

settings.configure(
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"],
        "USER": os.environ["PGUSER"], "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"]}},
    INSTALLED_APPS=[], USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.AutoField")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, models, transaction  # noqa: E402

from checks import Checks, equal  # noqa: E402

check = Checks(django.get_version())


class Kind(models.Model):
    name = models.CharField(max_length=30, unique=True)

    class Meta:
        app_label = "shop"


class Thing(models.Model):
    kind = models.ForeignKey(Kind, models.CASCADE)
    price = models.DecimalField(max_digits=9, decimal_places=2, null=True)
    made = models.DateTimeField(null=True)
    text = models.TextField(default="")

    class Meta:
        app_label = "shop"


def fresh():
    """What a migration does: in a block, with keys that are checked when it commits."""
    with connection.cursor() as cursor:
        cursor.execute("drop table if exists shop_thing")
        cursor.execute("drop table if exists shop_kind")
    with connection.schema_editor(atomic=True) as editor:
        editor.create_model(Kind)
        editor.create_model(Thing)


@check
def schema_editor():
    fresh()
    with connection.cursor() as cursor:
        cursor.execute("select condeferrable, condeferred from pg_constraint where contype = 'f'")
        equal(cursor.fetchall(), [(True, True)])


@check
def keys_are_checked_when_the_block_commits():
    fresh()
    with transaction.atomic():
        thing = Thing(kind_id=7, price=1)
        thing.save()
        Kind(id=7, name="late").save()
    equal(Thing.objects.get().kind.name, "late")
    try:
        with transaction.atomic():
            Thing(kind_id=8, price=1).save()
    except IntegrityError as error:
        equal(error.__cause__.sqlstate, "23503")
    else:
        raise AssertionError("a key without its row was kept")
    equal(Thing.objects.count(), 1)
    try:
        with transaction.atomic():
            Thing(kind_id=8, price=1).save()
            connection.check_constraints()
    except IntegrityError as error:
        equal(error.__cause__.sqlstate, "23503")
    else:
        raise AssertionError("check_constraints has found nothing")


@check
def blocks_within_blocks():
    fresh()
    with transaction.atomic():
        Kind(name="kept").save()
        try:
            with transaction.atomic():
                Kind(name="undone").save()
                Kind(name="kept").save()
        except IntegrityError as error:
            equal(error.__cause__.sqlstate, "23505")
        Kind(name="after").save()
    equal(sorted(Kind.objects.values_list("name", flat=True)), ["after", "kept"])
    with transaction.atomic():
        kind = Kind.objects.select_for_update().get(name="kept")
        kind.name = "changed"
        kind.save()
    equal(Kind.objects.filter(name="changed").count(), 1)
    made, is_new = Kind.objects.get_or_create(name="changed")
    equal((made.id, is_new), (kind.id, False))


@check
def a_migration_changes_tables():
    fresh()
    Kind(name="book").save()
    field = models.IntegerField(default=3)
    field.set_attributes_from_name("stock")
    with connection.schema_editor(atomic=True) as editor:
        editor.add_field(Kind, field)
    with connection.cursor() as cursor:
        cursor.execute("select name, stock from shop_kind")
        equal(cursor.fetchall(), [("book", 3)])
    with connection.schema_editor(atomic=True) as editor:
        editor.remove_field(Kind, field)
    with connection.schema_editor(atomic=True) as editor:
        editor.delete_model(Thing)
        editor.delete_model(Kind)
    equal(set(connection.introspection.table_names()) & {"shop_kind", "shop_thing"}, set())


@check
def objects():
    fresh()
    book = Kind(name="book")
    book.save()
    things = [Thing(kind=book, price=i) for i in range(20)]
    Thing.objects.bulk_create(things)
    equal(Thing.objects.count(), 20)
    equal(Thing.objects.filter(price__gte=15, kind__name__startswith="bo").count(), 5)
    equal(Thing.objects.filter(kind__name__icontains="OO").count(), 20)
    total = Thing.objects.aggregate(models.Sum("price"), models.Max("price"))
    equal((int(total["price__sum"]), int(total["price__max"])), (190, 19))
    Thing.objects.filter(price__lt=5).update(text="cheap")
    equal(list(Thing.objects.filter(text="cheap").order_by("-price").values_list("price", flat=True)
               [:2]), [4, 3])
    first = Thing.objects.select_related("kind").order_by("id")[0]
    equal(first.kind.name, "book")
    equal(list(Thing.objects.values_list("kind__name").annotate(n=models.Count("id"))),
          [("book", 20)])
    equal(Thing.objects.exclude(price=None).exists(), True)
    Thing.objects.filter(price=1).delete()
    equal(Thing.objects.count(), 19)
    equal(sum(1 for _ in Thing.objects.order_by("id").iterator(chunk_size=4)), 19)


@check
def introspection():
    fresh()
    with connection.cursor() as cursor:
        tables = {t.name for t in connection.introspection.get_table_list(cursor)}
        equal({"shop_kind", "shop_thing"} <= tables, True)
        columns = connection.introspection.get_table_description(cursor, "shop_thing")
        equal([(c.name, c.null_ok) for c in columns],
              [("id", False), ("kind_id", False), ("price", True), ("made", True), ("text", False)])
        equal(connection.introspection.get_relations(cursor, "shop_thing")["kind_id"][:2],
              ("id", "shop_kind"))
        found = connection.introspection.get_constraints(cursor, "shop_thing")
        equal([c["columns"] for c in found.values() if c["primary_key"]], [["id"]])
        equal([c["foreign_key"] for c in found.values() if c["foreign_key"]], [("shop_kind", "id")])
        equal(connection.introspection.get_sequences(cursor, "shop_kind")[0]["column"], "id")


@check
def sequences_are_reset():
    fresh()
    from django.core.management.color import no_style
    with connection.cursor() as cursor:
        cursor.execute("insert into shop_kind (id, name) values (50, 'given')")
        for statement in connection.ops.sequence_reset_sql(no_style(), [Kind]):
            cursor.execute(statement)
    after = Kind(name="after")
    after.save()
    equal(after.id, 51)


@check
def inspectdb():
    fresh()
    out = io.StringIO()
    call_command("inspectdb", "shop_kind", "shop_thing", stdout=out)
    text = out.getvalue()
    for wanted in ("class ShopThing", "models.CharField(unique=True, max_length=30)",
                   "models.DecimalField(max_digits=9, decimal_places=2, blank=True, null=True)",
                   "models.ForeignKey(ShopKind"):
        if wanted not in text:
            raise AssertionError(f"{wanted} is missing in {text}")


@check
def the_end():
    with connection.cursor() as cursor:
        cursor.execute("drop table if exists shop_thing")
        cursor.execute("drop table if exists shop_kind")


if __name__ == "__main__":
    check.main()
