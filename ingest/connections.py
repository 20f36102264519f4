"""Giving the thread's database connection back to the process's pool in the middle of a request."""

from django.db import connection


def release_connection() -> None:
    """Gives the connection back before something slow that needs none: a sender's upload, the broker.

    The pool has far fewer connections than the web process has threads; Django gives them back at the end of a request
    only. Inside a transaction this does nothing.
    """
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()
