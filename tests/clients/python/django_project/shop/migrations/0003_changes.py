from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("shop", "0002_rows")]
    operations = [
        migrations.RenameField("Product", "name", "title"),
        migrations.AlterField("Product", "title", models.CharField(db_index=True, max_length=100)),
        migrations.AlterField("Product", "price", models.DecimalField(decimal_places=2, max_digits=9)),
        migrations.AlterField("Product", "id", models.BigAutoField(
            auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
        migrations.AddField("Product", "stock", models.PositiveIntegerField(default=0)),
        migrations.AddField("Product", "weight", models.FloatField(blank=True, null=True)),
        migrations.AlterModelOptions("Product", {"ordering": ["slug"]}),
        migrations.AddIndex("Product", models.Index(fields=["title", "-price"],
                                                    name="by_title_and_price")),
        migrations.AddConstraint("Product", models.CheckConstraint(
            condition=Q(price__gte=0), name="price_never_below")),
        migrations.RenameModel("Purchase", "Order"),
        migrations.AlterField("Order", "placed", models.DateField()),
        migrations.AddField("Order", "paid", models.BooleanField(default=False)),
        migrations.AlterUniqueTogether("Line", set()),
        migrations.AlterField("Line", "id", models.BigAutoField(
            auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
        migrations.AlterField("Line", "amount", models.PositiveSmallIntegerField(default=1)),
        migrations.AddConstraint("Line", models.UniqueConstraint(
            fields=("order", "product"), name="once_an_order")),
        migrations.AddField("Order", "products", models.ManyToManyField(
            through="shop.Line", to="shop.product")),
    ]
