import uuid

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel("Product", [
            ("id", models.AutoField(primary_key=True)),
            ("slug", models.SlugField(unique=True)),
            ("name", models.CharField(max_length=20)),
            ("price", models.IntegerField()),
            ("made", models.DateTimeField(auto_now_add=True)),
        ]),
        migrations.CreateModel("Purchase", [
            ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True,
                                      serialize=False)),
            ("customer", models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT,
                                           related_name="orders")),
            ("placed", models.DateTimeField()),
        ]),
        migrations.CreateModel("Line", [
            ("id", models.AutoField(primary_key=True)),
            ("order", models.ForeignKey("shop.purchase", models.CASCADE, related_name="lines")),
            ("product", models.ForeignKey("shop.product", models.PROTECT, related_name="lines")),
            ("amount", models.IntegerField(null=True)),
        ], options={"unique_together": {("order", "product")}}),
    ]
