"""Endpoints for jobs and for signed links."""
