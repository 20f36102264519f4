"""Accounts of people: managing them, and logins by a provider."""
