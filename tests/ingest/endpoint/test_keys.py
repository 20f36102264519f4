"""Public keys and the origins they may be used from."""

from datetime import UTC, datetime

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from django.test import RequestFactory

from config.wsgi import application
from projects import key_cache as keys
from projects.key_cache import CACHE_KEYS, CACHE_S, clear_keys, find_key, is_origin_allowed, is_origin_entry
from projects.models import IngestKey
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import ENDPOINT, IngestServer


@pytest.mark.parametrize("key", ["", "nobody", "shop-key ", "SHOP-KEY", "x" * 81, "shop-key\0", "é", "shop-key&key="])
def test_an_unknown_key_is_refused(endpoint: IngestServer, key: str) -> None:
    answer = endpoint.post(make_envelope(), key=key)
    assert (answer.status, answer.reason) == (401, "unknown_key")


def test_a_revoked_key_is_refused_once_the_cache_lets_go(
    endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert endpoint.post(make_envelope()).status == 202
    IngestKey.objects.update(revoked_at=datetime.now(UTC))
    monkeypatch.setattr("projects.key_cache.CACHE_S", 0.0)
    assert endpoint.post(make_envelope()).status == 401
    assert CACHE_S <= 60


def test_a_revoked_key_may_be_given_back(endpoint: IngestServer) -> None:
    IngestKey.objects.update(revoked_at=datetime.now(UTC))
    assert endpoint.post(make_envelope()).status == 401
    IngestKey.objects.update(revoked_at=None)
    clear_keys()
    assert endpoint.post(make_envelope()).status == 202


def test_guessing_keys_fills_no_memory_and_pushes_no_live_key_out(
    endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projects.key_cache.CACHE_KEYS", 10)
    find_key(endpoint.key)
    for n in range(35):
        find_key(f"guess-{n}")
        find_key("x" * 81 + str(n))
    assert len(keys._unknown) <= 10
    assert list(keys._known) == [endpoint.key]
    assert CACHE_KEYS <= 100_000


def serve(environ_of: HttpRequest, **changes: str) -> int:
    """Serves a request by the application the web server runs; returns the status."""
    assert isinstance(environ_of, WSGIRequest)
    statuses: list[str] = []
    answer = application({**environ_of.environ, **changes}, lambda status, _: statuses.append(status))
    b"".join(answer)
    return int(statuses[0].split()[0])


@pytest.mark.parametrize("charset", ["undefined", "hex", "utf-16", "idna", "nonsense", '"hex"', "hex; x=1"])
@pytest.mark.parametrize("parameter", ["charset", "Charset ", "charset*"])
def test_a_charset_of_the_senders_choice_does_not_matter(
    open_endpoint: IngestServer, charset: str, parameter: str
) -> None:
    request = RequestFactory().post(
        f"{ENDPOINT}?key={open_endpoint.key}", make_envelope(), content_type="application/json"
    )
    assert serve(request, CONTENT_TYPE=f"text/plain; {parameter}={charset}") == 202


@pytest.mark.parametrize("content_type", ["text/plain", "text/plain; charset=utf-8"])
def test_a_query_of_countless_fields_names_no_key(open_endpoint: IngestServer, content_type: str) -> None:
    query = f"key={open_endpoint.key}&" + "&".join(f"a{n}=1" for n in range(2000))
    request = RequestFactory().post(ENDPOINT, b"{}", content_type="text/plain")
    assert serve(request, QUERY_STRING=query, CONTENT_TYPE=content_type) == 401


def test_a_post_without_an_origin_is_taken(endpoint: IngestServer) -> None:
    """Servers, command lines and same-origin beacons send none."""
    IngestKey.objects.update(origins=[])
    assert endpoint.post(make_envelope()).status == 202
    assert endpoint.post(make_envelope(), origin="https://shop.example").status == 403


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("https://shop.example", "https://shop.example"),
        ("https://SHOP.example", "https://shop.EXAMPLE/"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("https://a.shop.example", "https://*.shop.example"),
        ("https://a.b.shop.example", "https://*.shop.example"),
        ("https://a.shop.example:8443", "https://*.shop.example:8443"),
        ("null", "null"),
        ("null", "*"),
        ("https://anything.example", "*"),
        ("chrome-extension://abcdef", "chrome-extension://abcdef"),
    ],
)
def test_an_origin_on_the_list_is_allowed(origin: str, allowed: str) -> None:
    assert is_origin_allowed(origin, ("https://other.example", allowed))
    assert is_origin_entry(allowed)


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://shop.example", "https://shop.example"),
        ("https://shop.example:8443", "https://shop.example"),
        ("https://shop.example.evil.example", "https://shop.example"),
        ("https://a.shop.example", "https://shop.example"),
        ("https://shop.example", "https://*.shop.example"),
        ("https://evilshop.example", "https://*.shop.example"),
        ("http://a.shop.example", "https://*.shop.example"),
        ("https://a.shop.example:8443", "https://*.shop.example"),
        ("https://[.shop.example", "https://*.shop.example"),
        ("null", "https://shop.example"),
        ("null", "https://*.shop.example"),
        ("", "https://shop.example"),
        ("*", "https://shop.example"),
    ],
)
def test_another_origin_is_not_allowed(origin: str, allowed: str) -> None:
    assert not is_origin_allowed(origin, (allowed,))


@pytest.mark.parametrize(
    "entry", ["", "shop.example", "https://", "https://shop.example/app", "https://a.*.example", "**", "https://u@h"]
)
def test_an_entry_that_could_never_fit_is_no_entry(entry: str) -> None:
    assert not is_origin_entry(entry)


def test_a_key_sees_its_own_project_only(endpoint: IngestServer) -> None:
    from projects.creation import create_project

    other, key = create_project(slug="other", key="other-key", origins=["*"])
    assert endpoint.post(make_envelope("a"), key=key.public_key).status == 202
    assert endpoint.receipts() == []
    assert endpoint.post(make_envelope("a")).json["accepted"] == 1
    assert len(endpoint.receipts()) == len(IngestServer(other.pk, key.public_key).receipts()) == 1
