import unittest

from shop.catalog import find_product
from shop.pricing import VAT, euros, get_price, percent


class Pricing(unittest.TestCase):
    def test_a_price_includes_the_tax(self) -> None:
        candle = find_product("candle")
        self.assertEqual(get_price(candle), percent(candle.cents, 100 + VAT))

    def test_ten_or_more_of_a_product_are_cheaper(self) -> None:
        apple = find_product("apple")
        self.assertLess(get_price(apple, 10), 10 * get_price(apple))

    def test_amounts_are_written_in_euros(self) -> None:
        self.assertEqual(euros(1205), "12.05 EUR")


if __name__ == "__main__":
    unittest.main()
