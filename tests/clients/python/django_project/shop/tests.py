"""Run by Django's own test runner: fixtures of a class, savepoints between tests, the admin's pages."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, connection, transaction
from django.test import TestCase, TransactionTestCase

from .models import Label, Product


class Rows(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.label = Label.objects.create(text="all")

    def test_starts_with_the_rows_of_the_class(self):
        self.label.delete()
        self.assertEqual(Label.objects.count(), 0)

    def test_starts_with_them_again(self):
        self.assertEqual(list(Label.objects.values_list("text", flat=True)), ["all"])
        with self.assertRaises(IntegrityError), transaction.atomic():
            Label.objects.create(text="all")
        with self.assertNumQueries(1):
            self.assertEqual(Label.objects.get().twice, 0)

    def test_what_waits_for_the_commit(self):
        with self.captureOnCommitCallbacks(execute=True) as callbacks:
            transaction.on_commit(lambda: Label.objects.update(uses=9))
        self.assertEqual(len(callbacks), 1)
        self.assertEqual(Label.objects.get().twice, 18)

    def test_keys_are_checked_at_the_end_of_a_test(self):
        with self.assertRaises(IntegrityError), transaction.atomic():
            Label.objects.create(text="child", parent_id=12345)
            connection.check_constraints()


class Flushed(TransactionTestCase):
    reset_sequences = True

    def test_numbers_begin_anew(self):
        self.assertEqual(Label.objects.create(text="first").pk, 1)

    def test_numbers_begin_anew_each_time(self):
        self.assertEqual(Label.objects.create(text="first").pk, 1)


class Admin(TestCase):
    def setUp(self):
        self.user = get_user_model().objects.create_superuser("root", "r@example.org", "secret")
        self.client.force_login(self.user)
        Product.objects.all().delete()
        Product.objects.create(slug="x", title="Xylophone", price="9.90")

    def test_lists(self):
        page = self.client.get("/admin/shop/product/?q=xyl&stock=0")
        self.assertContains(page, "Xylophone")
        self.assertContains(self.client.get("/admin/"), "Labels")

    def test_adds_changes_and_deletes(self):
        new = {"slug": "y", "title": "Yo-yo", "price": "1.50", "stock": "3", "weight": ""}
        self.assertRedirects(self.client.post("/admin/shop/product/add/", new), "/admin/shop/product/")
        made = Product.objects.get(slug="y")
        page = self.client.post(f"/admin/shop/product/{made.pk}/change/", {**new, "stock": "4"})
        self.assertRedirects(page, "/admin/shop/product/")
        self.assertEqual(Product.objects.get(slug="y").stock, 4)
        again = self.client.post("/admin/shop/product/add/", new)
        self.assertContains(again, "already exists")
        self.client.post(f"/admin/shop/product/{made.pk}/delete/", {"post": "yes"})
        self.assertEqual(Product.objects.count(), 1)
        self.assertContains(self.client.get("/admin/"), "Yo-yo")

    def test_permissions(self):
        group = Group.objects.create(name="clerks")
        kind = ContentType.objects.get_for_model(Product)
        group.permissions.set(Permission.objects.filter(content_type=kind))
        clerk = get_user_model().objects.create_user("clerk", password="x", is_staff=True)
        clerk.groups.add(group)
        self.assertTrue(clerk.has_perm("shop.change_product"))
        self.assertFalse(clerk.has_perm("shop.change_label"))
        self.assertTrue(self.client.login(username="clerk", password="x"))
        self.assertEqual(self.client.get("/admin/shop/label/").status_code, 403)
