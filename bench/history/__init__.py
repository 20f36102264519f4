"""A year of a big project: Parquet and DuckDB beside PostgreSQL's own tables."""
