"""Creating a project on the dashboard: superusers do it, and land at the first steps with the key."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import IngestKey, Project
from tests.builders import make_project
from tests.dashboard.conftest import People
from tests.dashboard.pages.settings.conftest import text_in

NEW = "/projects/new/"


@pytest.fixture
def root(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_a_superuser_creates_a_project_and_sees_its_key(root: Client) -> None:
    assert "New project" in root.get("/projects/").content.decode()
    assert root.get(NEW).status_code == 200
    response = root.post(NEW, {"name": "Café & more", "slug": "", "origins": "https://Shop.example/"}, follow=True)
    assert response.redirect_chain == [("/projects/cafe-more/", 302)]
    project = Project.objects.get(slug="cafe-more")
    key = IngestKey.objects.get(project=project)
    assert (project.name, key.origins) == ("Café & more", ["https://shop.example"])
    assert f"/snippet/{key.public_key}.js" in response.content.decode().replace("&#x27;", "'")


def test_a_slug_of_ones_own_is_kept(root: Client) -> None:
    root.post(NEW, {"name": "Shop", "slug": "my_shop-2", "origins": ""})
    assert Project.objects.get().slug == "my_shop-2"


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"name": "", "slug": "shop"}, "name", "This field is required."),
        ({"name": "数", "slug": ""}, "slug", "No slug can be made from this name."),
        ({"name": "Shop", "slug": "the shop"}, "slug", "letters, numbers, underscores or hyphens"),
        ({"name": "Taken", "slug": ""}, "slug", "already exists"),
        ({"name": "New"}, "slug", "is an address of the dashboard. Choose another slug."),
        ({"name": "Shop", "origins": "shop.example"}, "origins", "Did you mean https://shop.example?"),
    ],
)
def test_a_wrong_field_is_named(root: Client, fields: dict[str, str], field: str, sentence: str) -> None:
    make_project("taken")
    response = root.post(NEW, fields)
    assert response.status_code == 400
    assert sentence in text_in(response)  # type: ignore[arg-type]  # the client's own response
    assert f'id="id_{field}_error"' in response.content.decode()
    assert Project.objects.count() == 1


def test_others_create_none(people: People) -> None:
    client = Client()
    assert client.get(NEW).status_code == 302
    client.force_login(people.owner)
    assert "New project" not in client.get("/projects/").content.decode()
    for ask in (client.get, client.post):
        assert ask(NEW, {"name": "Mine"}).status_code == 403
    assert set(Project.objects.values_list("slug", flat=True)) == {"shop", "elsewhere"}
