"""History: folded days of a project as Parquet files, for other tools to read (docs/history.md)."""
