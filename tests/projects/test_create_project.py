"""`create_project` and `create_token`: one JSON object on standard output, or one sentence on standard error."""

import hashlib
import json
from io import StringIO

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from projects.creation import create_project
from projects.key_cache import is_origin_allowed
from projects.models import ApiToken, IngestKey, Project
from projects.tokens import create_token, digest_token

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> dict[str, str]:
    """Returns the one JSON object a command printed, on a line of its own and with nothing else."""
    out = StringIO()
    call_command(*arguments, stdout=out)
    assert out.getvalue().count("\n") == 1
    printed: dict[str, str] = json.loads(out.getvalue())
    return printed


def test_create_project_prints_its_slug_and_key() -> None:
    arguments = ("shop", "--key", "k1", "--origin", "https://shop.example", "--origin", "https://*.shop.example")
    assert run("create_project", *arguments) == {"slug": "shop", "key": "k1"}
    key = IngestKey.objects.get(public_key="k1")
    assert (key.project.slug, key.project.name) == ("shop", "shop")
    assert key.origins == ["https://shop.example", "https://*.shop.example"]


def test_create_project_makes_a_key_that_fits_into_an_address() -> None:
    key = run("create_project", "shop", "--origin", "*")["key"]
    assert len(key) >= 20
    assert key.replace("-", "").replace("_", "").isalnum()
    assert run("create_project", "shop2", "--origin", "*")["key"] != key


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("https://münchen.example", "https://xn--mnchen-3ya.example"),
        ("https://*.münchen.example", "https://www.xn--mnchen-3ya.example"),
        ("https://münchen.example:8443", "https://xn--mnchen-3ya.example:8443"),
        ("https://shop.example:443", "https://shop.example"),
        ("http://shop.example:80/", "http://shop.example"),
        (" HTTPS://Shop.Example ", "https://shop.example"),
    ],
)
def test_create_project_keeps_origins_as_browsers_send_them(written: str, sent: str) -> None:
    run("create_project", "shop", "--key", "k1", "--origin", written)
    assert is_origin_allowed(sent, tuple(IngestKey.objects.get().origins))


def test_create_project_takes_a_name() -> None:
    run("create_project", "shop", "--origin", "*", "--name", "The shop")
    assert Project.objects.get().name == "The shop"


def test_a_project_may_have_no_origins_at_all() -> None:
    """Its key then serves senders that name none, such as servers."""
    run("create_project", "shop")
    assert IngestKey.objects.get().origins == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["shop"], "already exists"),
        (["two words"], "slug"),
        (["fresh", "--key", "taken"], "already exists"),
        (["fresh", "--key", "x" * 81], "at most 80"),
        (["fresh", "--origin", "shop.example"], "“shop.example” has no scheme"),
        (["fresh", "--origin", "https://shop.example/app"], "has a path"),
        (["fresh", "--origin", "https://shop.example:https"], "is not an origin"),
        (["fresh", "--origin", "https://a*.shop.example"], "stands for all subdomains"),
    ],
)
def test_what_cannot_be_created_is_said_in_one_sentence(arguments: list[str], sentence: str) -> None:
    run("create_project", "shop", "--key", "taken")
    with pytest.raises(CommandError, match=sentence):
        run("create_project", *arguments)
    assert Project.objects.count() == IngestKey.objects.count() == 1


def test_the_service_creates_both_or_none() -> None:
    create_project(slug="shop", key="taken")
    with pytest.raises(ValidationError):
        create_project(slug="new", key="taken")
    assert not Project.objects.filter(slug="new").exists()


def test_create_token_prints_the_slug_and_the_token_once() -> None:
    run("create_project", "shop")
    printed = run("create_token", "--project", "shop", "--name", "ci")
    assert set(printed) == {"slug", "token"}
    assert printed["slug"] == "shop"
    token = ApiToken.objects.get()
    assert token.name == "ci"
    assert token.digest == hashlib.sha256(printed["token"].encode()).hexdigest()
    assert printed["token"].startswith(f"ff_{token.prefix}_")
    assert printed["token"] not in str(ApiToken.objects.values())


def test_a_token_for_source_maps_has_a_scope_of_its_own() -> None:
    run("create_project", "shop")
    run("create_token", "--project", "shop")
    run("create_token", "--project", "shop", "--scope", "sourcemaps")
    assert list(ApiToken.objects.order_by("id").values_list("scopes", flat=True)) == [["read"], ["sourcemaps"]]
    run("create_token", "--project", "shop", "--scope", "audit", "--scope", "sourcemaps", "--days", "7")
    last = ApiToken.objects.latest("id")
    assert last.scopes == ["sourcemaps", "audit"]
    assert last.expires_at is not None


def test_tokens_differ_and_many_fit_a_project() -> None:
    project, _ = create_project(slug="shop")
    clear = {create_token(project=project)[1] for _ in range(20)}
    assert len(clear) == 20
    assert ApiToken.objects.filter(digest__in=[digest_token(token) for token in clear]).count() == 20


def test_a_token_needs_a_project_that_exists() -> None:
    with pytest.raises(CommandError, match="no project with the slug 'nowhere'"):
        run("create_token", "--project", "nowhere")
