"""Folding: from a claimed batch of traces to sums in the tables."""
