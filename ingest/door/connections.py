"""Releasing the thread's database connection to the process's pool in the middle of a request."""

from django.db import connection


def release_connection() -> None:
    """Releases the connection before something slow that needs none: a sender's upload, the broker.

    The pool has far fewer connections than the web process has threads, and Django releases them only at the end of a
    request. Inside a transaction this does nothing.
    """
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()
