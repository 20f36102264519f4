"""The snippet with a project's settings inside: what it says, for how long, packed how, and what strangers can fill."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import brotli
import pytest
from django.db import OperationalError
from django.http import HttpResponse
from django.test import Client

from ingest.snippet.files import choose_coding, fill_settings
from profcore.trace.collection import Collection, encode_for_snippet, write_for_script
from projects import key_cache as keys
from projects.creation import create_project
from projects.key_cache import clear_keys
from projects.models import IngestKey, Project
from tests.aggregate.posting import post
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db
CORE = 'var s = "FIELDFLAME_SETTINGS"; ' + "/* core */ " * 200


@pytest.fixture(autouse=True)
def _core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A core that holds the placeholder, whatever is built in the tree; and a project with a trace."""
    path = tmp_path / "snippet.js"
    path.write_text(CORE)
    monkeypatch.setattr("ingest.snippet.views.SNIPPET_PATH", path)
    full = tmp_path / "full.js"
    full.write_text(f"{CORE}// full")
    monkeypatch.setattr("ingest.snippet.views.FULL_PATH", full)
    fill_settings.cache_clear()
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", make_envelope("a"))
    clear_keys()
    yield
    fill_settings.cache_clear()


def get(key: str = "shop-key", **headers: str) -> HttpResponse:
    return Client().get(f"/snippet/{key}.js", headers=headers)  # type: ignore[return-value]  # the client's own


def read_settings(response: HttpResponse) -> Any:  # Any: JSON
    match = re.fullmatch(r"var s = (.*?); (/\* core \*/ )+", response.content.decode())
    assert match
    return json.loads(match[1])


def change(**fields: object) -> None:
    Project.objects.update(**fields)
    clear_keys()


def test_a_project_without_settings_leaves_all_to_the_page() -> None:
    response = get()
    assert response.status_code == 200
    assert read_settings(response) == {}
    assert response["Content-Type"] == "text/javascript; charset=utf-8"
    assert response["Cache-Control"] == "public, max-age=300, stale-if-error=86400"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert response["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "Cookie" not in response.get("Vary", "")
    assert not response.cookies


def test_the_snippet_says_what_the_project_set() -> None:
    change(
        collection_rate=0.1,
        collection_pages=[["/checkout/*", 1], ["/product/:id", 0]],
        collection_duration_ms=60_000,
        collection_interactions=True,
        collection_absent_rate=0,
    )
    assert read_settings(get()) == {
        "rate": 0.1,
        "pages": [["^/checkout/.*$", 1], ["^/product/[^/]+$", 0]],
        "duration": 60_000,
        "interactions": True,
        "absent": 0,
    }


def test_switched_off_it_says_only_that() -> None:
    change(collection_off=True, collection_rate=0.5)
    response = get()
    assert read_settings(response) == {"off": True}
    assert response["Cache-Control"].startswith("public, max-age=300")


@pytest.mark.parametrize("key", ["nobody", "shop-key.js", "x" * 81, "%00", "shop%2Fkey"])
def test_an_unknown_key_records_nothing_for_a_minute(key: str) -> None:
    response = get(key)
    if key == "shop%2Fkey":
        assert response.status_code == 404  # no address of a snippet
        return
    assert response.status_code == 200
    assert read_settings(response) == {"off": True}
    assert response["Cache-Control"] == "public, max-age=60"


def test_a_revoked_key_records_nothing() -> None:
    IngestKey.objects.update(revoked_at="2026-01-01T00:00:00Z")
    clear_keys()
    assert read_settings(get()) == {"off": True}


def test_until_the_first_trace_every_view_tells_why_it_records_nothing() -> None:
    create_project(slug="fresh", key="new-key", origins=["*"])
    assert read_settings(get("new-key")) == {"absent": 1}
    Project.objects.filter(slug="fresh").update(collection_absent_rate=0)
    clear_keys()
    assert read_settings(get("new-key")) == {"absent": 0}


def test_guessed_keys_fill_no_cache() -> None:
    for number in range(50):
        get(f"guess-{number}")
    assert fill_settings.cache_info().currsize == 1
    assert len(keys._known) == 0


def test_the_file_is_packed_once_for_each_content() -> None:
    create_project(slug="other", key="other-key", origins=["*"])
    change(collection_absent_rate=0.5)
    for _ in range(3):
        get()
        get("other-key")
    assert fill_settings.cache_info().misses == 1


def test_it_is_packed_as_the_browser_accepts_it() -> None:
    plain, zipped, small = get(), get(accept_encoding="gzip"), get(accept_encoding="gzip, deflate, br, zstd")
    assert (zipped["Content-Encoding"], small["Content-Encoding"]) == ("gzip", "br")
    assert gzip.decompress(zipped.content) == brotli.decompress(small.content) == plain.content
    assert len({plain["ETag"], zipped["ETag"], small["ETag"]}) == 3
    assert all("Accept-Encoding" in response["Vary"] for response in (plain, zipped, small))


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("", ""),
        ("br", "br"),
        ("gzip;q=1.0, br;q=0", "gzip"),
        ("GZIP", "gzip"),
        ("*", "br"),
        ("br;q=0, *", "gzip"),
        ("identity", ""),
        ("brotli, xgzip", ""),
        ("br;q=nan, gzip;q=x", ""),
        (";;;,,=", ""),
    ],
)
def test_a_coding_is_sent_only_if_it_is_accepted(accepted: str, coding: str) -> None:
    assert choose_coding(accepted) == coding


def test_what_did_not_change_is_not_sent_again_and_what_changed_is() -> None:
    first = get()
    again = get(if_none_match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    assert again["Cache-Control"] == first["Cache-Control"]
    change(collection_off=True)
    assert get(if_none_match=first["ETag"]).status_code == 200


def test_a_core_without_the_placeholder_is_served_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.js"
    path.write_text("old()")
    monkeypatch.setattr("ingest.snippet.views.SNIPPET_PATH", path)
    assert get().content == b"old()"


def test_without_a_database_caches_keep_what_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("ingest.snippet.views.find_key", fail)
    response = get()
    assert (response.status_code, response["Cache-Control"]) == (503, "no-store")
    assert int(response["Retry-After"]) > 0


def test_only_reading_is_allowed() -> None:
    assert Client().post("/snippet/shop-key.js").status_code == 405
    assert Client().head("/snippet/shop-key.js").status_code == 200


def test_settings_cannot_end_the_script_or_a_line() -> None:
    hostile = "/</script>\u2028\u2029<!--" + '"\\'
    written = write_for_script(encode_for_snippet(Collection(pages=((hostile, 0.5),))))
    assert json.loads(written) == {"pages": [['^/</script>\u2028\u2029<!--"\\\\$', 0.5]]}
    assert "<" not in written
    assert written.isascii()


@pytest.mark.parametrize(
    "fields",
    [{"collection_only_slow": True}, {"collection_experiment_rate": 0.1}, {"path": "/snippet/full/shop-key.js"}],
)
def test_the_full_core_comes_where_settings_need_it_or_a_page_asks_for_it(fields: dict[str, Any]) -> None:
    path = fields.pop("path", "/snippet/shop-key.js")
    change(**fields) if fields else None
    assert Client().get(path).content.endswith(b"// full")


def test_a_share_of_whole_views_alone_needs_no_full_core() -> None:
    change(collection_whole_rate=0.2, collection_experiment_rate=0)
    assert not get().content.endswith(b"// full")
