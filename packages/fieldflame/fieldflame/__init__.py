"""Asks a Fieldflame server about a release, in CI: did it make pages slower for real users, and how sure is that."""

__version__ = "1.0.0"
