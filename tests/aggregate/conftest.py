"""Fixtures of the tests of maintenance, folding and reading: object stores."""

from tests.object_stores import bucket, moto_server, objects  # noqa: F401
