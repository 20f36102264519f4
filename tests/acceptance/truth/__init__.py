"""Folded sums against what the browser's own profiler saw."""
