"""The log of administration: who did what, when, and from where."""
