from django.db import migrations


def fill(apps, editor):
    product = apps.get_model("shop", "Product")
    product.objects.using(editor.connection.alias).bulk_create(
        [product(slug=f"p{i}", name=f"n{i}", price=i) for i in range(20)])


def clear(apps, _editor):
    apps.get_model("shop", "Product").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [migrations.RunPython(fill, clear)]
