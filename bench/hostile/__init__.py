"""What hostile traces cost: at the ingest endpoint, in the fold, and when they are first read."""
