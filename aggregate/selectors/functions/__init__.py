"""Functions of a slice: tables, groups, callers and callees, call trees."""
