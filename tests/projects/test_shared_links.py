"""Shared links: kept as digests, and swept by the maintenance."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection

from projects.models import Membership, SharedLink
from projects.shared_links import create_shared_link, expire_shared_links, find_shared_link
from tests.aggregate.posting import database_url
from tests.builders import make_project

NOW = datetime(2026, 11, 23, tzinfo=UTC)


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann")


def test_a_link_is_found_by_its_clear_text_only(ann: User) -> None:
    project = make_project("shop")
    link, clear = create_shared_link(project=project, creator=ann, page="", now=NOW)
    other, other_clear = create_shared_link(project=project, creator=ann, page="", now=NOW)
    assert link.expires_at == NOW + timedelta(days=7)
    assert find_shared_link(clear) == link
    secret = clear[len("ffs_000000000000_") :]
    assert len(secret) == 43  # 256 bits
    assert secret not in str(SharedLink.objects.values())
    for wrong in ("", link.prefix, clear[:-1], clear + "x", clear.replace(link.prefix, other.prefix), secret, "ü"):
        assert find_shared_link(wrong) is None
    assert find_shared_link(other_clear) == other


def test_maintenance_deletes_old_links_and_ends_those_of_former_members(ann: User) -> None:
    project = make_project("shop")
    Membership.objects.create(project=project, user=ann, role=Membership.Role.ADMIN)
    former, gone = User.objects.create_user("former"), User.objects.create_user("gone", is_active=False)
    Membership.objects.create(project=project, user=gone)
    links = [
        create_shared_link(project=project, creator=creator, page="", now=NOW, days=days)[0]
        for creator, days in ((ann, 1), (ann, 30), (former, 30), (gone, 30))
    ]
    later = NOW + timedelta(days=2)
    assert expire_shared_links(later) == 0
    revoked = set(SharedLink.objects.exclude(revoked_at=None).values_list("pk", flat=True))
    assert revoked == {links[2].pk, links[3].pk}
    assert expire_shared_links(NOW + timedelta(days=31, seconds=1)) == 1  # the first ended a month ago
    assert expire_shared_links(NOW + timedelta(days=33)) == 2
    assert SharedLink.objects.get() == links[1]


def test_maintenance_keeps_links_of_superusers_while_a_project_has_no_members(ann: User) -> None:
    project, root = make_project("shop"), User.objects.create_superuser("root")
    link, _ = create_shared_link(project=project, creator=root, page="", now=NOW)
    expire_shared_links(NOW)
    link.refresh_from_db()
    assert link.revoked_at is None
    Membership.objects.create(project=project, user=ann, role=Membership.Role.ADMIN)
    expire_shared_links(NOW)
    link.refresh_from_db()
    assert link.revoked_at == NOW


@pytest.mark.django_db(transaction=True)
def test_a_link_waits_for_nobody_who_refers_to_the_project(transactional_db: None) -> None:
    """Folds and imports hold the project's row like this, for as long as their transactions last."""
    project, creator = make_project("shop"), User.objects.create_user("ann")
    with psycopg.connect(database_url()) as fold, connection.cursor() as cursor:
        fold.execute("SELECT FROM projects_project FOR KEY SHARE")
        cursor.execute("SET lock_timeout = '10s'")
        create_shared_link(project=project, creator=creator, page="", now=NOW)
    connection.close()
