"""Reads what Sentry's browser SDK sends: envelopes with profiles, and spans that say where these belong."""
