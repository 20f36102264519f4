"""Statistics of slices: intervals, comparisons, costs of one function."""
