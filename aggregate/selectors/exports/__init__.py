"""Slices and views in the form that exporters need."""
