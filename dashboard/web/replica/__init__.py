"""Reads from the replica: which addresses may be read there, and what an answer says about it."""
