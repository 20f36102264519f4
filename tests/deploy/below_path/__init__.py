"""Fieldflame below a path of its host (`FIELDFLAME_PATH`)."""
