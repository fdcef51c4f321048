"""Prices, with tax and discounts, in whole cents."""

from shop.catalog import Product

VAT = 19
VAT_FOOD = 7
BULK_FROM = 10
BULK_DISCOUNT = 5


def get_price(product: Product, quantity: int = 1) -> int:
    """Return what ``quantity`` of a product cost, tax included."""
    net = product.cents * quantity
    if quantity >= BULK_FROM:
        net = percent(net, 100 - BULK_DISCOUNT)
    return percent(net, 100 + (VAT_FOOD if product.food else VAT))


def percent(cents: int, share: int) -> int:
    """Return ``share`` percent of an amount, rounded half up."""
    return (cents * share + 50) // 100


def euros(cents: int) -> str:
    """Write an amount as a customer reads it."""
    return f"{cents // 100}.{cents % 100:02d} EUR"
