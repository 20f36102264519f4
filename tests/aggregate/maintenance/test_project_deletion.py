"""Deleting a project leaves no row of it anywhere, whenever its worker is killed."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection
from django.test import Client
from pytest_django import Settings

from aggregate import tasks
from aggregate.fold.rollups import roll_up_hours
from aggregate.jobs.requests import start_job
from aggregate.maintenance import project_deletion
from aggregate.maintenance.project_deletion import begin_deletion, delete_marked_projects, list_project_models
from aggregate.sourcemaps.labelling import label_all
from aggregate.stopping import tell_to_stop
from projects.creation import create_project
from projects.models import IngestKey, Membership, Project
from projects.tokens import create_token
from tests.aggregate.old_views import NOW, old_views
from tests.aggregate.posting import fold_all, post
from tests.aggregate.sourcemaps.shop import intern, upload
from tests.envelopes import make_envelope

pytestmark = [pytest.mark.django_db, pytest.mark.slow(30)]
TABLES = """
SELECT c.table_name FROM information_schema.columns c
JOIN pg_class p ON p.relname = c.table_name AND p.relkind IN ('r', 'p') AND NOT p.relispartition
WHERE c.column_name = 'project_id' AND c.table_schema = 'public' ORDER BY 1
"""


def make_project(slug: str) -> Project:
    """Makes a project with rows in as many tables as possible."""
    project, key = create_project(slug=slug, key=f"{slug}-key", origins=["*"])
    Membership.objects.create(project=project, user=User.objects.create(username=slug), role="admin")
    create_token(project=project)
    post(key.public_key, *old_views())
    fold_all()
    roll_up_hours(NOW)
    upload(project.pk)
    intern(project.pk)
    label_all(project.pk)
    start_job(project.pk, kind="functions", params=[], link="")
    post(key.public_key, make_envelope("pending", "A\nA B"))
    return project


@pytest.fixture
def projects(settings: Settings) -> tuple[Project, Project]:
    settings.DELETE_GRACE_S = 0
    return make_project("shop"), make_project("other")


def count_rows(project_id: int) -> dict[str, int]:
    """Returns the number of rows of a project by table, for all tables that have a project."""
    counts = {}
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        for (table,) in cursor.fetchall():
            cursor.execute(f"SELECT count(*) FROM {table} WHERE project_id = %s", [project_id])
            ((counts[table],),) = cursor.fetchall()
    return counts


def test_every_table_that_names_a_project_is_known() -> None:
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        named = {table for (table,) in cursor.fetchall()}
    assert {model._meta.db_table for model in list_project_models()} == named
    assert len(named) > 25


def test_nothing_of_a_deleted_project_is_left_and_its_slug_is_free(projects: tuple[Project, Project]) -> None:
    shop, other = projects
    assert sum(count > 0 for count in count_rows(shop.pk).values()) > 15
    before = count_rows(other.pk)
    assert begin_deletion(shop)
    assert not begin_deletion(shop)
    assert post_status("shop-key") == 401
    assert delete_marked_projects(datetime.now(UTC)) == 1
    assert not Project.objects.filter(slug="shop").exists()
    assert {table for table, count in count_rows(shop.pk).items() if count} == set()
    assert count_rows(other.pk) == before
    assert User.objects.filter(username="shop").exists()
    create_project(slug="shop", key="shop-key", origins=["*"])


def post_status(key: str) -> int:
    return Client().post(f"/ingest/v1/traces?key={key}", make_envelope(), content_type="application/json").status_code


def test_the_last_rows_wait_for_posts_that_are_under_way(projects: tuple[Project, Project], settings: Settings) -> None:
    shop, _ = projects
    settings.DELETE_GRACE_S = 60
    begin_deletion(shop)
    now = datetime.now(UTC)
    assert delete_marked_projects(now) == 0
    assert {table for table, count in count_rows(shop.pk).items() if count} == {"projects_membership"}
    IngestKey.objects.create(project=shop, public_key="late-key", origins=["*"])  # as a process that has cached one
    post("late-key", make_envelope("late", "A"))
    assert delete_marked_projects(now + timedelta(seconds=61)) == 1
    assert {table for table, count in count_rows(shop.pk).items() if count} == set()


def test_it_goes_on_where_a_turn_or_a_killed_worker_ended(
    projects: tuple[Project, Project], settings: Settings, monkeypatch: pytest.MonkeyPatch, sent_again: list[str]
) -> None:
    shop, _ = projects
    monkeypatch.setattr(project_deletion, "BATCH_ROWS", 2)
    monkeypatch.setattr(project_deletion, "BATCH_BODIES", 2)
    settings.FOLD_TURN_S = 0
    begin_deletion(shop)
    left = [sum(count_rows(shop.pk).values())]
    while Project.objects.filter(pk=shop.pk).exists():
        tasks.delete_projects()
        left.append(sum(count_rows(shop.pk).values()))
        assert left[-1] < left[-2]
        if project := Project.objects.filter(pk=shop.pk).first():
            assert project.deleted_rows == left[0] - left[-1]
            assert project.rows_to_delete is not None
    assert len(left) > 20
    assert set(sent_again) == {"aggregate.delete_projects"}


def test_a_worker_that_is_told_to_stop_sends_no_other_turn(
    projects: tuple[Project, Project], sent_again: list[str]
) -> None:
    begin_deletion(projects[0])
    tell_to_stop()
    try:
        tasks.delete_projects()
    finally:
        tell_to_stop(is_wanted=False)
    assert not sent_again
    assert Project.objects.filter(pk=projects[0].pk).exists()


def test_a_project_that_cannot_be_deleted_holds_up_no_other(
    projects: tuple[Project, Project], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shop, other = projects
    delete = project_deletion.delete_project

    def fail(project: Project, now: datetime) -> bool:
        if project.pk == shop.pk:
            raise IntegrityError("something refers to it")
        return delete(project, now)

    monkeypatch.setattr(project_deletion, "delete_project", fail)
    assert begin_deletion(shop)
    assert begin_deletion(other)
    assert delete_marked_projects(datetime.now(UTC)) == 1
    assert not Project.objects.filter(pk=other.pk).exists()
    assert f"Project {shop.pk} could not be deleted" in caplog.text
