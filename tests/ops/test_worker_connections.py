"""Connections to PostgreSQL of a worker's process, from task to task."""

from types import SimpleNamespace
from typing import cast

import pytest
from celery.fixups import django
from django.db import connection

from config.celery import PooledFixup, app
from ops.database.base import DatabaseWrapper


@pytest.mark.django_db(transaction=True)
def test_a_task_releases_its_connection_to_a_pool_that_stays_open() -> None:
    assert django.DjangoWorkerFixup is PooledFixup  # type: ignore[attr-defined]  # the stubs do not know it
    fixup = PooledFixup(app)
    fixup.worker = SimpleNamespace(pool_cls="prefork")
    sender = SimpleNamespace(request=SimpleNamespace(is_eager=False))
    connection.ensure_connection()
    wrapper = cast(DatabaseWrapper, connection)  # of our own backend
    assert wrapper.pool is not None
    pool = wrapper.pool.pool
    fixup.on_task_postrun(sender=sender)
    fixup.on_task_prerun(sender=sender)
    assert connection.connection is None
    assert not pool.closed
    assert wrapper.pool.pool is pool
