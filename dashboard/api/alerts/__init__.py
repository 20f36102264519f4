"""Alerts and channels by the API: what they found, creating and changing them, and the log of messages."""
