"""What was sold today."""

from shop.cart import Cart
from shop.catalog import CATALOG
from shop.invoice import render
from shop.pricing import euros, get_price


def price_list() -> str:
    """Return the price of every product."""
    return "\n".join(
        f"{name:12}{euros(get_price(product)):>10}" for name, product in CATALOG.items()
    )


def main() -> None:
    """Print the price list and an example of an invoice."""
    cart = Cart()
    cart.add("apple", 12)
    cart.add("candle")
    print(price_list(), render(cart), sep="\n\n")


if __name__ == "__main__":
    main()
