"""The compiled kernel and the pure twin write the same, and refuse the same."""
