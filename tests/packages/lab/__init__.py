"""Tests of `fieldflame lab`: what a change that a build recorded would cost real users."""
