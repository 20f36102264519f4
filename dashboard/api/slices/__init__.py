"""Endpoints that answer a question about a slice."""
