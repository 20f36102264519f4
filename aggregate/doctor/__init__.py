"""The doctor: looks at a live page as a browser would, and says what keeps it from being recorded."""
