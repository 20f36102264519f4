"""The page "Data quality"."""
