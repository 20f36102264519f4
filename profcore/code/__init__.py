"""Whose code a func is: categories, packages, parties, sites, identity and display rules."""
