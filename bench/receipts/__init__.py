"""Measurements of receipts: their bytes, and what a trace costs beside millions of them."""
