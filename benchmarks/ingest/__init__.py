"""Benchmarks of the way of a trace from the post to the folded sums."""
