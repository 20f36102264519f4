"""Tests of simulated alerts."""
