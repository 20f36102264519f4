"""Imports Firefox profiles."""
