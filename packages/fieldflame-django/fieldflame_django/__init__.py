"""Lets browsers profile a share of a Django site's pages, for Fieldflame."""
