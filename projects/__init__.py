"""Administration of projects: creation, descriptions, keys, limits, members, tokens."""
