"""Slices: what a person asks about, how a slice is read, and two of them side by side."""
