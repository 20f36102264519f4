"""Benchmarks of the snippet in a real Chromium."""
