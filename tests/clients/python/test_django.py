"""Django: its schema editor, its ORM, `inspectdb`, over psycopg in autocommit."""

import contextlib
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
from django.db import NotSupportedError, connection, models  # noqa: E402

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
    """The statements of Django's schema editor. It would run them in a block and make the keys
    deferrable, of which the engine has neither."""
    with connection.cursor() as cursor:
        cursor.execute("drop table if exists shop_thing")
        cursor.execute("drop table if exists shop_kind")
    editor = connection.schema_editor(collect_sql=True)
    editor.deferred_sql = []
    with contextlib.suppress(AttributeError):
        editor.atomic_migration = False
    editor.create_model(Kind)
    editor.create_model(Thing)
    statements = editor.collected_sql + [str(s) for s in editor.deferred_sql]
    with connection.cursor() as cursor:
        for statement in statements:
            # An index with another operator class serves LIKE there; here each index does.
            if "varchar_pattern_ops" in statement:
                continue
            cursor.execute(statement.replace(" DEFERRABLE INITIALLY DEFERRED", ""))


@check
def schema_editor():
    fresh()


@check
def objects():
    fresh()
    book = Kind(name="book")
    book.save()
    things = [Thing(kind=book, price=i) for i in range(20)]
    try:
        Thing.objects.bulk_create(things)
    except NotSupportedError as error:
        # It writes in a block: until there are transactions that is refused by name, and nothing of
        # it is kept.
        equal(error.__cause__.sqlstate, "0A000")
        equal(Thing.objects.count(), 0)
        for thing in things:
            thing.save()
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
