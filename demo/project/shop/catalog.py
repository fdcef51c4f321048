"""What the shop sells."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """One article; ``cents`` is its net price."""

    name: str
    cents: int
    food: bool = False


CATALOG = {
    product.name: product
    for product in [
        Product("apple", 40, food=True),
        Product("bread", 320, food=True),
        Product("candle", 450),
        Product("notebook", 299),
    ]
}


def find_product(name: str) -> Product:
    """Return the product called ``name``; raise KeyError if the shop has none."""
    return CATALOG[name.lower()]
