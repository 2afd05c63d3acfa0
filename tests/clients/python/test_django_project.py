"""A Django project: its migrations forth and back, its queries and transactions, threads, its own
test runner, its admin."""

import contextlib
import datetime as dt
import decimal
import io
import os
import pathlib
import sys
import tempfile
import threading

os.environ["DJANGO_SETTINGS_MODULE"] = "django_project.settings"
import django  # noqa: E402

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.contrib.contenttypes.models import ContentType  # noqa: E402
from django.core import serializers  # noqa: E402
from django.core.management import CommandError, call_command  # noqa: E402
from django.db import (DatabaseError, IntegrityError, OperationalError, connection, models,  # noqa: E402
                       transaction)
from django.db.models import Avg, Case, Count, Exists, F, Max, OuterRef, Q, Subquery, Sum, When  # noqa: E402
from django.db.models.functions import Coalesce, Lower, Rank, TruncMonth  # noqa: E402
from django.test import override_settings  # noqa: E402

from checks import Checks, equal  # noqa: E402
from django_project.shop.models import Label, Line, Order, Product  # noqa: E402

check = Checks(django.get_version())
D = decimal.Decimal


def command(*words, **options):
    out = io.StringIO()
    call_command(*words, stdout=out, **options)
    return out.getvalue()


def columns(table):
    with connection.cursor() as cursor:
        return {c.name: c for c in connection.introspection.get_table_description(cursor, table)}


def raises(code, function):
    try:
        function()
    except DatabaseError as error:
        equal(error.__cause__.sqlstate, code)
        return error
    raise AssertionError(f"no error, wanted {code}")


def fresh():
    """All tables there, without rows but a user and three products."""
    command("migrate", verbosity=0)
    command("flush", interactive=False, verbosity=0)
    user = get_user_model().objects.create_user("ada", "a@example.org", "x")
    products = Product.objects.bulk_create(
        [Product(slug=s, title=s.upper(), price=p, stock=10) for s, p in (("a", 1), ("b", 2), ("c", 3))])
    return user, products


def order(user, *lines, placed=dt.date(2024, 5, 1)):
    made = Order.objects.create(customer=user, placed=placed)
    Line.objects.bulk_create([Line(order=made, product=p, amount=n) for p, n in lines])
    return made


@check
def migrations_of_the_applications_that_come_with_it():
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"drop table if exists {table} cascade")
    command("migrate", verbosity=0)
    equal({"auth_user", "auth_group_permissions", "django_content_type", "django_session",
           "django_admin_log", "shop_label"} <= set(connection.introspection.table_names()), True)
    equal(ContentType.objects.filter(app_label="shop").count(), 4)
    equal("[ ]" in command("showmigrations"), False)
    equal(command("migrate", plan=True).strip().endswith("No planned migration operations."), True)
    equal(command("makemigrations", check_changes=True).strip(), "No changes detected")


@check
def migrations_back_and_forth():
    command("migrate", verbosity=0)
    Product.objects.all().delete()
    command("migrate", "shop", "0002", verbosity=0)
    equal("name" in columns("shop_product"), True)
    command("migrate", "shop", "0001", verbosity=0)
    command("migrate", "shop", "0002", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("select count(*), sum(price) from shop_product")
        equal(cursor.fetchone(), (20, 190))
    command("migrate", "shop", verbosity=0)
    equal(Product.objects.filter(stock=5).count(), 11)
    equal(Product.objects.aggregate(Sum("price"))["price__sum"], D("190.00"))
    equal(Product.objects.create(slug="new", title="x" * 90, price="1.25").pk, 41)
    raises("23514", lambda: Product.objects.create(slug="bad", title="x", price=-1))
    Product.objects.all().delete()
    command("migrate", "shop", "zero", verbosity=0)
    equal([t for t in connection.introspection.table_names() if t.startswith("shop_")], [])
    command("migrate", "shop", verbosity=0)
    command("migrate", "shop", "0003", fake=True, verbosity=0)
    command("migrate", "shop", "0004", fake=True, verbosity=0)


@check
def statements_of_migrations_are_printed():
    text = command("sqlmigrate", "shop", "0003")
    equal(text.startswith("BEGIN;") and "RENAME COLUMN" in text, True)
    equal("DROP TABLE" in command("sqlmigrate", "shop", "0004", backwards=True), True)


@check
def migrations_are_made():
    """`makemigrations` from the models alone; what it makes is what is there."""
    with tempfile.TemporaryDirectory() as at:
        package = pathlib.Path(at) / "made_migrations"
        package.mkdir()
        (package / "__init__.py").touch()
        sys.path.insert(0, at)
        with override_settings(MIGRATION_MODULES={"shop": "made_migrations"}):
            command("makemigrations", "shop", verbosity=0)
            equal([f.name for f in sorted(package.glob("0*.py"))], ["0001_initial.py"])
            text = command("sqlmigrate", "shop", "0001")
        sys.path.remove(at)
    for wanted in ('CREATE TABLE "shop_product"', 'GENERATED ALWAYS AS', 'DEFERRABLE INITIALLY DEFERRED'):
        equal(wanted in text, True)
    command("migrate", "shop", "zero", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(text.replace("BEGIN;", "").replace("COMMIT;", ""))
    command("migrate", "shop", fake=True, verbosity=0)
    Label.objects.create(text="x", uses=4)
    equal(Label.objects.get().twice, 8)


@check
def a_migration_that_fails_leaves_nothing():
    fresh()
    before = sorted(columns("shop_product"))
    field = models.IntegerField(default=3)
    field.set_attributes_from_name("later")

    def change():
        with connection.schema_editor(atomic=True) as editor:
            editor.add_field(Product, field)
            editor.execute("update shop_product set later = 1")
            editor.execute("select 1 / 0")

    raises("22012", change)
    equal(sorted(columns("shop_product")), before)


@check
def queries_with_expressions():
    user, (a, b, c) = fresh()
    order(user, (a, 2), (b, 1))
    order(user, (b, 5), placed=dt.date(2024, 6, 2))
    lines = Line.objects.annotate(cost=F("amount") * F("product__price"))
    found = lines.aggregate(all=Sum("cost"), most=Max("cost"), mean=Avg("cost"))
    equal((found["all"], found["most"], round(found["mean"], 4)), (D("14.00"), D("10.00"), D("4.6667")))
    equal(list(Product.objects.annotate(sold=Coalesce(Sum("lines__amount"), 0)).order_by("slug").values_list(
        "slug", "sold")), [("a", 2), ("b", 6), ("c", 0)])
    equal(list(Product.objects.filter(Exists(Line.objects.filter(product=OuterRef("pk"), amount__gt=1)))
               .order_by("slug").values_list("slug", flat=True)), ["a", "b"])
    last = Line.objects.filter(product=OuterRef("pk")).order_by("-order__placed").values("amount")[:1]
    equal(list(Product.objects.annotate(n=Subquery(last)).order_by("slug").values_list("n", flat=True)), [2, 5, None])
    equal(list(Order.objects.annotate(month=TruncMonth("placed")).values("month")
               .annotate(n=Count("lines__product", distinct=True)).order_by("month")
               .values_list("n", flat=True)), [2, 1])
    kinds = Case(When(price__lt=2, then=models.Value("cheap")), default=models.Value("dear"))
    equal(list(Product.objects.annotate(kind=kinds).values("kind").annotate(n=Count("*"))
               .order_by("kind").values_list("kind", "n")), [("cheap", 1), ("dear", 2)])
    ranked = Product.objects.annotate(r=models.Window(Rank(), order_by=F("price").desc()))
    equal(list(ranked.filter(r__lte=2).order_by("r").values_list("slug", flat=True)), ["c", "b"])
    Product.objects.filter(Q(slug="a") | ~Q(title="B")).update(stock=F("stock") - 1, title=Lower("title"))
    equal(list(Product.objects.order_by("slug").values_list("title", "stock")), [("a", 9), ("B", 10), ("c", 9)])
    with_all = Order.objects.prefetch_related("lines__product").select_related("customer")
    equal(sorted(len(o.lines.all()) for o in with_all), [1, 2])
    equal(set(a.labels.all().union(Label.objects.all())), set())
    equal(Product.objects.filter(slug__iregex="^[AB]$", made__year=dt.datetime.now(dt.UTC).year,
                                 title__in=["a", "B"]).count(), 2)
    equal(Order.objects.dates("placed", "month").count(), 2)


@check
def relations_of_many_to_many():
    _, (a, b, _c) = fresh()
    red, blue = Label.objects.create(text="red"), Label.objects.create(text="blue")
    a.labels.add(red, blue)
    red.products.add(a, b)
    equal(list(Product.objects.filter(labels__text="red").values_list("slug", flat=True)), ["a", "b"])
    a.labels.set([blue])
    equal(list(a.labels.values_list("text", flat=True)), ["blue"])
    child = Label.objects.create(text="dark red", parent=red)
    red.delete()
    child.refresh_from_db()
    equal(child.parent, None)
    equal(Label.products.through.objects.count(), 1)


@check
def keys_protect_and_cascade():
    user, (a, _b, _c) = fresh()
    made = order(user, (a, 1))
    for kept in (user, a):
        try:
            kept.delete()
        except models.ProtectedError:
            continue
        raise AssertionError("what is referred to was deleted")
    equal(made.delete(), (2, {"shop.Line": 1, "shop.Order": 1}))
    a.delete()


@check
def rows_of_many_at_once():
    _, (a, _b, _c) = fresh()
    Product.objects.bulk_create([Product(slug=f"s{i}", title="t", price=i) for i in range(2000)],
                                batch_size=500)
    equal(Product.objects.count(), 2003)
    some = list(Product.objects.filter(slug__startswith="s1"))
    for product in some:
        product.stock = product.pk
    equal(Product.objects.bulk_update(some, ["stock"], batch_size=200), len(some))
    equal(Product.objects.filter(stock=F("id")).count(), len(some))
    again = [Product(slug="a", title="new", price=5), Product(slug="z", title="z", price=6)]
    Product.objects.bulk_create(again, update_conflicts=True, unique_fields=["slug"],
                                update_fields=["title", "price"])
    a.refresh_from_db()
    equal((a.title, a.price, a.stock), ("new", D("5.00"), 10))
    Product.objects.bulk_create(again, ignore_conflicts=True)
    equal(Product.objects.in_bulk([a.pk])[a.pk].title, "new")
    equal(Product.objects.filter(price__gt=1000).delete()[0], 999)
    made, is_new = Product.objects.update_or_create(slug="z", defaults={"stock": 77})
    equal((made.stock, is_new), (77, False))
    seen = sum(1 for _ in Product.objects.iterator(chunk_size=100))
    equal(seen, Product.objects.count())


@check
def blocks_within_blocks():
    fresh()
    told = []
    with transaction.atomic():
        Label.objects.create(text="outer")
        transaction.on_commit(lambda: told.append("outer"))
        for text in ("inner", "outer", "last"):
            try:
                with transaction.atomic():
                    transaction.on_commit(lambda text=text: told.append(text))
                    with transaction.atomic():
                        Label.objects.create(text=text)
            except IntegrityError:
                Label.objects.create(text=f"not {text}")
        point = transaction.savepoint()
        Label.objects.all().delete()
        transaction.savepoint_rollback(point)
        equal(told, [])
    equal(told, ["outer", "inner", "last"])
    equal(sorted(Label.objects.values_list("text", flat=True)), ["inner", "last", "not outer", "outer"])
    try:
        with transaction.atomic():
            try:
                Label.objects.create(text="outer")
            except IntegrityError:
                Label.objects.count()
    except transaction.TransactionManagementError:
        pass
    with transaction.atomic(), transaction.atomic(savepoint=False):
        Label.objects.create(text="same")
        transaction.set_rollback(True)
    equal(Label.objects.filter(text="same").exists(), False)
    with transaction.atomic(durable=True):
        Label.objects.create(text="durable")


def threads(count, work):
    """Runs it in threads with connections of their own; the first failure is raised."""
    failures = []

    def run(number):
        try:
            work(number)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    all_of_them = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in all_of_them:
        thread.start()
    for thread in all_of_them:
        thread.join()
    if failures:
        raise failures[0]


@check
def rows_are_locked():
    _, (a, b, _c) = fresh()

    def from_another(query):
        found = []
        threads(1, lambda _: found.append(locked(query)))
        return found[0]

    def locked(query):
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("set local lock_timeout = '5s'")
            return list(query.values_list("slug", flat=True))

    with transaction.atomic():
        Product.objects.select_for_update().get(pk=a.pk)
        equal(from_another(Product.objects.select_for_update(skip_locked=True)), ["b", "c"])
        raises("55P03", lambda: from_another(Product.objects.select_for_update(nowait=True)))
        equal(from_another(Product.objects.select_for_update(nowait=True).filter(pk=b.pk)), ["b"])
        equal(from_another(Product.objects.all()), ["a", "b", "c"])
        equal(from_another(Product.objects.select_for_update(nowait=True, no_key=True)
                           .filter(pk=b.pk)), ["b"])
    try:
        list(Product.objects.select_for_update())
    except transaction.TransactionManagementError:
        return
    raise AssertionError("rows were locked outside of a transaction")


@check
def rows_of_joins_are_locked():
    user, (a, b, _c) = fresh()
    one, two = order(user, (a, 1)), order(user, (b, 1))
    with transaction.atomic():
        query = Line.objects.select_related("order", "product").select_for_update(of=("self", "order"))
        equal(query.get(order=one).product, a)

        def change(_number):
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("set local lock_timeout = '5s'")
                Order.objects.filter(pk=two.pk).update(paid=True)
                Product.objects.filter(pk=a.pk).update(stock=1)

        threads(1, change)
    equal(Order.objects.filter(paid=True).count(), 1)


@check
def threads_that_get_or_create():
    fresh()
    made = []

    def work(number):
        for i in range(20):
            label, is_new = Label.objects.get_or_create(text=f"l{i}", defaults={"uses": number})
            made.append((label.text, is_new))
            Label.objects.filter(pk=label.pk).update(uses=F("uses") + 1)
            Label.objects.update_or_create(text=f"u{i}", defaults={"uses": number})

    threads(6, work)
    equal(sorted(text for text, is_new in made if is_new), sorted(f"l{i}" for i in range(20)))
    equal(Label.objects.count(), 40)


@check
def threads_that_sell():
    _, (a, _b, _c) = fresh()
    sold = []

    def work(_number):
        for _ in range(10):
            with transaction.atomic():
                product = Product.objects.select_for_update().get(pk=a.pk)
                if product.stock == 0:
                    return
                product.stock -= 1
                product.save(update_fields=["stock"])
            sold.append(1)

    Product.objects.filter(pk=a.pk).update(stock=25)
    threads(5, work)
    a.refresh_from_db()
    equal((len(sold), a.stock), (25, 0))


@check
def serializable_transactions_conflict():
    fresh()
    first = Label.objects.create(text="a", uses=1)
    options = {**connection.settings_dict["OPTIONS"], "isolation_level": 4}
    kept = connection.settings_dict["OPTIONS"]
    connection.close()
    connection.settings_dict["OPTIONS"] = options
    try:
        with transaction.atomic():
            equal(Label.objects.aggregate(n=Sum("uses"))["n"], 1)
            threads(1, lambda _: Label.objects.filter(pk=first.pk).update(uses=5))
            raises("40001", lambda: Label.objects.filter(pk=first.pk).update(uses=F("uses") + 1))
            transaction.set_rollback(True)
    finally:
        connection.close()
        connection.settings_dict["OPTIONS"] = kept
    equal(Label.objects.get().uses, 5)


@check
def users_sessions_and_tables_of_a_cache():
    fresh()
    from django.contrib.auth import authenticate
    from django.contrib.sessions.backends.db import SessionStore
    from django.core.cache import caches
    equal(authenticate(username="ada", password="x").get_username(), "ada")
    store = SessionStore()
    store["cart"] = [1, 2]
    store.save()
    equal(SessionStore(store.session_key)["cart"], [1, 2])
    command("clearsessions")
    with override_settings(CACHES={"default": {
            "BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cached"}}):
        command("createcachetable", verbosity=0)
        cache = caches["default"]
        cache.set("k", {"v": 1}, 60)
        equal((cache.add("k", 2), cache.get("k"), cache.incr("n") if cache.add("n", 1) else None),
              (False, {"v": 1}, 2))
        cache.clear()
    with connection.cursor() as cursor:
        cursor.execute("drop table cached")


@check
def rows_go_out_and_come_back():
    user, (a, _b, _c) = fresh()
    order(user, (a, 3))
    text = command("dumpdata", "auth.user", "shop", natural_foreign=True)
    command("flush", interactive=False, verbosity=0)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        command("loaddata", file.name, verbosity=0)
    equal(Line.objects.get().order.customer.username, "ada")
    equal(Product.objects.create(slug="n", title="n", price=1).pk > a.pk + 2, True)
    with transaction.atomic():
        for thing in serializers.deserialize("json", text):
            thing.save()
    equal(Product.objects.count(), 4)


@check
def its_own_test_runner():
    fresh()
    text = io.StringIO()
    try:
        with contextlib.redirect_stderr(text), contextlib.redirect_stdout(text):
            command("test", "django_project.shop", keepdb=True, interactive=False, verbosity=0)
    except (CommandError, SystemExit) as error:
        raise AssertionError(text.getvalue()[-1500:]) from error
    equal("Ran 9 tests" in text.getvalue(), True)


@check
def the_end():
    connection.close()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"drop table if exists {table} cascade")


if __name__ == "__main__":
    check.main()
