"""Tests of what the doctor finds about the server."""
