"""Simulations of the statistics: how often intervals are right, nothing is found in nothing, and changes are found."""
