from django.contrib import admin

from .models import Label, Product


@admin.register(Product)
class ProductAdmin(admin.ModelAdmin):
    list_display = ["slug", "title", "price"]
    search_fields = ["title", "slug"]
    list_filter = ["stock"]
    date_hierarchy = "made"


admin.site.register(Label)
