"""A fresh project for each example of a property: the changes of one example are undone before the next."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from aggregate.fold.interning import clear_interned
from ingest.endpoint.admission import clear_admission
from ingest.endpoint.quotas import clear_quotas
from ingest.storage.groups import clear_groups
from projects.creation import create_project
from projects.key_cache import clear_keys
from projects.models import Project


@contextmanager
def fresh_project(slug: str = "shop") -> Iterator[Project]:
    """Yields a new project whose key is its slug; undoes everything at the end."""
    with transaction.atomic():
        _forget()
        yield create_project(slug=slug, key=slug, origins=["*"])[0]
        transaction.set_rollback(True)
    _forget()


def void_claims() -> None:
    """Ends all claims, as when their leases have run out. Within one transaction time stands still."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_tracereceipt SET claimed_until = NULL, claim_token = NULL WHERE state = 0")


def _forget() -> None:
    for clear in (clear_admission, clear_groups, clear_interned, clear_keys, clear_quotas):
        clear()
