"""Tests of the packages that sites install."""
