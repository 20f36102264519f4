"""Imports what Chrome writes: CPU profiles and trace events."""
