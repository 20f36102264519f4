"""The read API."""
