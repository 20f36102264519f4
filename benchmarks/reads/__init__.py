"""Benchmarks of reads: questions, pages, first screens and exports."""
