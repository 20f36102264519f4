"""Tests of the page "Server"."""
