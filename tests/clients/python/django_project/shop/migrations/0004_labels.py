from django.db import migrations, models
from django.db.models import F


class Migration(migrations.Migration):
    dependencies = [("shop", "0003_changes")]
    operations = [
        migrations.CreateModel("Label", [
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False,
                                       verbose_name="ID")),
            ("text", models.CharField(max_length=30, unique=True)),
            ("parent", models.ForeignKey(blank=True, null=True, on_delete=models.SET_NULL,
                                         to="shop.label")),
            ("products", models.ManyToManyField(blank=True, related_name="labels", to="shop.product")),
            ("uses", models.BigIntegerField(default=0)),
            ("twice", models.GeneratedField(db_persist=True, expression=F("uses") * 2,
                                            output_field=models.BigIntegerField())),
        ]),
        migrations.RunSQL("update shop_product set stock = 5 where slug like 'p1%'",
                          migrations.RunSQL.noop),
    ]
