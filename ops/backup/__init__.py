"""Backups of the database, and what a data folder needs with it: `./run backup` and `./run restore`."""
