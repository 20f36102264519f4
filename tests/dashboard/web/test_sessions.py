"""Sessions that have expired are deleted by a task that beat sends."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from dashboard.tasks import clear_sessions

pytestmark = pytest.mark.django_db


def test_beat_deletes_sessions_that_have_expired_and_no_others() -> None:
    now = timezone.now()
    for name, age in (("old", timedelta(hours=-1)), ("live", timedelta(hours=1))):
        Session.objects.create(session_key=name, session_data="", expire_date=now + age)
    clear_sessions()
    assert list(Session.objects.values_list("session_key", flat=True)) == ["live"]
    assert clear_sessions.name in {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
