"""What a customer is about to buy."""

from shop.catalog import find_product
from shop.pricing import get_price


class Cart:
    """Products and how many of each."""

    def __init__(self) -> None:
        self.quantities: dict[str, int] = {}

    def add(self, name: str, quantity: int = 1) -> None:
        """Put a product into the cart, or more of it."""
        product = find_product(name)
        self.quantities[product.name] = self.quantities.get(product.name, 0) + quantity

    def total(self) -> int:
        """Return the price of everything in the cart."""
        return sum(
            get_price(find_product(name), quantity) for name, quantity in self.quantities.items()
        )
