"""Benchmarks of PostgreSQL: bytes of its tables and of its log, and the time to store a trace."""
