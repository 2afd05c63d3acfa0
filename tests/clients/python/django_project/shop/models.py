"""What the migrations of this application lead to."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q


class Product(models.Model):
    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=100, db_index=True)
    price = models.DecimalField(max_digits=9, decimal_places=2)
    stock = models.PositiveIntegerField(default=0)
    weight = models.FloatField(null=True, blank=True)
    made = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug"]
        constraints = [models.CheckConstraint(condition=Q(price__gte=0), name="price_never_below")]
        indexes = [models.Index(fields=["title", "-price"], name="by_title_and_price")]

    def __str__(self):
        return self.title


class Order(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    customer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="orders")
    placed = models.DateField()
    paid = models.BooleanField(default=False)
    products = models.ManyToManyField(Product, through="Line")


class Line(models.Model):
    order = models.ForeignKey(Order, models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, models.PROTECT, related_name="lines")
    amount = models.PositiveSmallIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["order", "product"], name="once_an_order")]


class Label(models.Model):
    text = models.CharField(max_length=30, unique=True)
    products = models.ManyToManyField(Product, related_name="labels", blank=True)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True)
    uses = models.BigIntegerField(default=0)
    twice = models.GeneratedField(expression=F("uses") * 2, output_field=models.BigIntegerField(),
                                  db_persist=True)
