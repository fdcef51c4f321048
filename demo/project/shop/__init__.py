"""A very small shop: catalog, cart, prices, invoices, report."""
