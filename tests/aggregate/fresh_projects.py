"""A fresh project for each example of a property: the changes of one example are undone before the next."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from profcore.caching import clear_caches
from projects.creation import create_project
from projects.models import Project


@contextmanager
def fresh_project(slug: str = "shop") -> Iterator[Project]:
    """Yields a new project whose key is its slug; undoes everything at the end."""
    with transaction.atomic():
        clear_caches()
        yield create_project(slug=slug, key=slug, origins=["*"])[0]
        transaction.set_rollback(True)
    clear_caches()


def void_claims() -> None:
    """Ends all claims, as when their leases have run out. Within one transaction time stands still."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_tracereceipt SET claimed_until = NULL, claim_token = NULL WHERE state = 0")
