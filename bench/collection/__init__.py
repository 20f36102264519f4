"""Measuring the snippet in a real Chromium: what of a visit arrives, and what it costs the page."""
