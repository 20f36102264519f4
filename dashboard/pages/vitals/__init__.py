"""What delays a page, and what would help most."""
