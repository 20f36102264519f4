"""Tests of the command `fieldflame`, which builds run."""
