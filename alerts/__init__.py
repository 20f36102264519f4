"""Alerts over a project's cost: their states, the history of these, and the messages about them."""
