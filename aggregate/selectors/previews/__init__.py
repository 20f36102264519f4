"""Previews of changed rules, before they are saved."""
