"""Maintenance of packs: bytes that no row names leave the object store."""
