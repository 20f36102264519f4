"""Tests of the measured lab."""
