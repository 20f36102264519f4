"""Tests of the simulated guard."""
