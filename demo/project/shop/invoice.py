"""The paper a customer takes home."""

from shop.cart import Cart
from shop.catalog import find_product
from shop.pricing import euros, get_price


def render(cart: Cart) -> str:
    """Return the invoice as text, a line a product and the total below."""
    lines = [line(name, quantity) for name, quantity in sorted(cart.quantities.items())]
    return "\n".join([*lines, "-" * 30, f"{'total':18}{euros(cart.total()):>12}"])


def line(name: str, quantity: int) -> str:
    """Return one line of an invoice."""
    price = get_price(find_product(name), quantity)
    return f"{quantity:3} x {name:12}{euros(price):>12}"
