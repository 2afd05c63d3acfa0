"""Rows of different engines in one form."""

import decimal


def normal(rows):
    """Rows, columns separated by `|`, with numbers to four digits after the point; sorted."""
    def value(text):
        try:
            return decimal.Decimal(text).quantize(decimal.Decimal("0.0001"))
        except decimal.InvalidOperation:
            return text.rstrip()
    return sorted(tuple(map(str, map(value, row.split("|")))) for row in rows)
