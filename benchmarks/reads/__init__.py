"""Benchmarks of reads: queries, pages, first screens and exports."""
