"""`sourcemaps`: CI's token uploads and does nothing else; readers read; contents are never served."""

import pytest
from django.test import Client
from pytest_django import Settings

from aggregate.label_models import Label, ReleaseScript
from aggregate.sourcemaps.labelling import label_all
from ingest.storage.groups import allocate_ids
from projects.models import Project
from projects.tokens import create_token
from tests.aggregate.sourcemaps.shop import BUNDLE, PREFIX, URI, intern, upload
from tests.dashboard.api.project.builds import WHOLE, tar_of
from tests.dashboard.conftest import People
from tests.dashboard.web.addresses import API_ADDRESSES

ADDRESS = "/api/v1/projects/shop/sourcemaps"
WHERE = f"?release=1.0.0&url_prefix={PREFIX}"


@pytest.fixture
def ci(shop: Project) -> dict[str, str]:
    """The headers of a token for uploads."""
    allocate_ids(shop.pk, "func", 100)  # the shop's builders gave ids without it
    _, clear = create_token(project=shop, scopes=["sourcemaps"])
    return {"Authorization": f"Bearer {clear}"}


def post(client: Client, body: bytes, where: str = WHERE, headers: dict[str, str] | None = None):  # type: ignore[no-untyped-def]  # Django's test response
    """Posts as `curl --data-binary` does, with the content type that it sends."""
    return client.post(ADDRESS + where, body, content_type="application/x-www-form-urlencoded", headers=headers)


def test_a_build_is_uploaded_by_one_post(client: Client, shop: Project, ci: dict[str, str]) -> None:
    response = post(client, WHOLE, headers=ci)
    assert response.status_code == 200
    assert response.json() == {
        "release": "1.0.0",
        "scripts": [
            {
                "file": "main.js",
                "urls": [URI],
                "map": "main.js.map",
                "match": "sourceMappingURL",
                "missing_map": None,
            }
        ],
        "rejected": [],
        "unmatched": 0,
        "new_files": 2,
        "coverage": {
            "all_functions": 2,  # the shop's own, of another script
            "functions": 2,
            "matched": 0,
            "named": 0,
            "folders": [PREFIX + "/"],
            "suggested_url_prefix": None,
        },
    }
    assert post(client, WHOLE, headers=ci).json()["new_files"] == 0


def test_the_list_tells_how_far_labels_are(client: Client, shop: Project, ci: dict[str, str]) -> None:
    post(client, WHOLE, headers=ci)
    intern(shop.pk)
    (listed,) = client.get(ADDRESS, headers=ci).json()["source_maps"]
    assert (listed["state"], listed["functions"], listed["mapped"]) == ("waiting", 0, 0)
    label_all()
    (listed,) = client.get(ADDRESS + "?release=1.0.0", headers=ci).json()["source_maps"]
    assert (listed["state"], listed["functions"], listed["mapped"]) == ("labelled", 3, 2)
    assert client.get(ADDRESS + "?release=2.0.0", headers=ci).json() == {"total": 0, "source_maps": []}


def test_no_answer_holds_what_was_uploaded(client: Client, shop: Project, ci: dict[str, str]) -> None:
    content = post(client, WHOLE, headers=ci).content + client.get(ADDRESS, headers=ci).content
    assert b"function a(r)" not in content
    assert b"return" not in content


def test_a_release_and_a_single_script_are_deleted(client: Client, shop: Project, ci: dict[str, str]) -> None:
    upload(shop.pk, "1.0.0")
    upload(shop.pk, "1.1.0")
    intern(shop.pk)
    label_all()
    assert client.delete(ADDRESS + f"?release=1.0.0&url={URI}x", headers=ci).json() == {"deleted": 0}
    assert client.delete(ADDRESS + f"?release=1.0.0&url={URI}", headers=ci).json() == {"deleted": 1}
    assert set(Label.objects.values_list("release", flat=True)) == {"1.1.0"}
    assert client.delete(ADDRESS + "?release=1.1.0", headers=ci).json() == {"deleted": 1}
    assert not Label.objects.exists()
    assert client.delete(ADDRESS, headers=ci).json()["field"] == "release"


def test_a_token_for_uploads_reads_nothing_else(client: Client, shop: Project, ci: dict[str, str]) -> None:
    for address in API_ADDRESSES:
        assert client.get(address, headers=ci).status_code == (200 if address == ADDRESS else 403), address
    assert client.post("/api/v1/projects/shop/links", {}, headers=ci).status_code == 403
    assert client.get(ADDRESS.replace("shop", "elsewhere"), headers=ci).status_code == 404


def test_a_token_that_reads_uploads_and_deletes_nothing(client: Client, bearer: dict[str, str]) -> None:
    assert post(client, WHOLE, headers=bearer).status_code == 403
    assert client.delete(ADDRESS + "?release=1.0.0", headers=bearer).status_code == 403
    assert client.get(ADDRESS, headers=bearer).status_code == 200


def test_admins_upload_and_members_do_not(people: People) -> None:
    for who, status in ((people.owner, 200), (people.member, 403), (people.stranger, 404)):
        client = Client()
        client.force_login(who)
        assert post(client, WHOLE).status_code == status
    assert post(Client(), WHOLE).status_code == 401


def test_a_session_uploads_nothing_without_its_csrf_token(people: People) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.owner)
    assert post(client, WHOLE).status_code == 403


def test_a_bad_map_is_named_and_the_rest_is_stored(client: Client, shop: Project, ci: dict[str, str]) -> None:
    response = post(client, tar_of(main__js=BUNDLE, main__js__map=b'{"version": 3, "sources": 1}'), headers=ci)
    assert response.status_code == 422
    assert response.json()["rejected"] == [
        {"file": "main.js.map", "path": "$.sources", "detail": "Expected `array | null`, got `int`."}
    ]
    assert ReleaseScript.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "where", "field"),
    [
        (b"", WHERE, "body"),
        (b"nonsense", WHERE, "body"),
        (tar_of(readme__md=b""), WHERE, "body"),
        (WHOLE, f"?url_prefix={PREFIX}", "release"),
        (WHOLE, "?release=1.0.0", "url_prefix"),
        (WHOLE, "?release=1.0.0&url_prefix=assets", "url_prefix"),
        (WHOLE, WHERE + "&prefix=x", "prefix"),
    ],
)
def test_what_is_wrong_names_its_field(client: Client, ci: dict[str, str], body: bytes, where: str, field: str) -> None:
    response = post(client, body, where, headers=ci)
    assert response.status_code == 400
    assert response.json()["field"] == field


def test_a_body_that_is_too_large_is_refused(client: Client, ci: dict[str, str], settings: Settings) -> None:
    settings.SOURCE_MAP_MAX_UPLOAD_BYTES = 100
    assert post(client, WHOLE, headers=ci).status_code == 413
