"""The memory of a running Fieldflame."""
