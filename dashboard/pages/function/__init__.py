"""The page of one function."""
