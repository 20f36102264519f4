"""An upload that is stored is answered soon, even if counting what it reaches takes the database too long."""

from collections.abc import Iterator

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from aggregate.label_models import ReleaseScript
from aggregate.sourcemaps import coverage
from ingest.storage.groups import allocate_ids
from projects.models import Membership, Project
from projects.tokens import create_token
from tests.aggregate.posting import database_url
from tests.aggregate.sourcemaps.shop import PREFIX
from tests.dashboard.api.project.builds import WHOLE
from tests.dashboard.conftest import make_shop
from tests.dashboard.pages.settings.conftest import SETTINGS

pytestmark = pytest.mark.django_db(transaction=True)
NOT_COUNTED = "could not be counted in time"


@pytest.fixture
def slow_shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project whose roll-up is held by somebody, as a migration or a hung session may; a count waits for a second."""
    monkeypatch.setattr(coverage, "COVERAGE_WAIT_S", 1.0, raising=False)
    shop = make_shop()
    allocate_ids(shop.pk, "func", 100)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '30s'")  # a count without a bound ends with an error
    with psycopg.connect(database_url()) as holder:
        holder.execute("LOCK TABLE aggregate_dayhotspot IN ACCESS EXCLUSIVE MODE")
        yield shop
        holder.rollback()
    connection.close()


def test_the_answer_to_ci_has_no_coverage_then(slow_shop: Project) -> None:
    _, clear = create_token(project=slow_shop, scopes=["sourcemaps"])
    address = f"/api/v1/projects/shop/sourcemaps?release=1.0.0&url_prefix={PREFIX}"
    headers = {"Authorization": f"Bearer {clear}"}
    answer = Client().post(address, WHOLE, content_type="application/gzip", headers=headers)
    assert (answer.status_code, answer.json()["new_files"], answer.json()["coverage"]) == (200, 2, None)
    assert ReleaseScript.objects.filter(project=slow_shop).exists()


def test_the_pages_say_so(slow_shop: Project) -> None:
    owner = User.objects.create_user("owner")
    Membership.objects.create(project=slow_shop, user=owner, role=Membership.Role.ADMIN)
    client = Client()
    client.force_login(owner)
    build = SimpleUploadedFile("build.tar.gz", WHOLE)
    fields = {"release": "1.0.0", "url_prefix": PREFIX, "build": build}
    uploaded = client.post(SETTINGS + "source-maps/", fields)
    assert (uploaded.status_code, NOT_COUNTED in uploaded.content.decode()) == (200, True)
    shown = client.get(SETTINGS + "source-maps/release/", {"release": "1.0.0"})
    assert (shown.status_code, NOT_COUNTED in shown.content.decode()) == (200, True)
