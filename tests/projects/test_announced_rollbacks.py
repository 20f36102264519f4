"""The log says once that a release was rolled back, whoever says so at the same time."""

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from projects.models import AnnouncedRelease, AuditEntry, Project
from projects.releases import ReleaseError, announce_release
from tests.builders import make_project

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid"  # for us


def acts_of(project: Project) -> list[str]:
    entries = AuditEntry.objects.filter(project_number=project.pk, act__startswith="release.").order_by("id")
    return list(entries.values_list("act", flat=True))


@pytest.mark.django_db
def test_only_what_changes_is_written_to_the_log() -> None:
    shop = make_project("shop")
    announce_release(shop.pk, "1.1", NOW, {"rolled_back_at": None})
    assert acts_of(shop) == []
    for at in (NOW, NOW, None, None):
        announce_release(shop.pk, "1.1", NOW, {"rolled_back_at": at})
    assert acts_of(shop) == ["release.rolled_back", "release.restored"]


@pytest.mark.django_db
def test_a_release_for_which_there_is_no_room_is_not_written_to_the_log(settings: Settings) -> None:
    settings.MAX_ANNOUNCED_RELEASES = 0
    shop = make_project("shop")
    with pytest.raises(ReleaseError):
        announce_release(shop.pk, "1.1", NOW, {"rolled_back_at": NOW})
    assert acts_of(shop) == []


@pytest.mark.django_db(transaction=True)
def test_two_who_say_the_same_at_once_are_written_to_the_log_once() -> None:
    shop = make_project("shop")

    def say() -> None:
        try:
            announce_release(shop.pk, "1.1", LATER, {"rolled_back_at": NOW})
        finally:
            connection.close()

    other = threading.Thread(target=say)
    with transaction.atomic(), connection.cursor() as cursor:
        announce_release(shop.pk, "1.1", NOW, {"rolled_back_at": NOW})
        other.start()
        waiting = 0
        while not waiting and other.is_alive():
            cursor.execute(WAITING)
            (waiting,) = cursor.fetchone()
            time.sleep(0.01)
    other.join()
    assert waiting
    assert acts_of(shop) == ["release.rolled_back"]
    assert AnnouncedRelease.objects.get().announced_at == LATER
