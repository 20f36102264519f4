"""Fixtures of the tests of upkeep, folding and reading: object stores."""

from tests.object_stores import bucket, moto_server, objects  # noqa: F401
