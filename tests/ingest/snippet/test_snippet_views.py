"""How the snippet and the demo page are served. No test here has a database, so none of this can use one."""

import gzip

import pytest
from django.test import Client

from ingest.snippet.views import DEMO_DIR, DEMO_FILES, SNIPPET_PATH


def test_any_site_may_include_the_snippet(client: Client) -> None:
    response = client.get("/snippet.js")
    assert response.status_code == 200
    assert response.content == SNIPPET_PATH.read_bytes()
    assert response["Content-Type"] == "text/javascript; charset=utf-8"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert response["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert response["Cache-Control"].startswith("public, max-age=3600")
    assert "Cookie" not in response.get("Vary", "")
    assert not response.cookies


def test_a_browser_that_reads_gzip_gets_it_with_an_etag_of_its_own(client: Client) -> None:
    plain = client.get("/snippet.js")
    zipped = client.get("/snippet.js", headers={"Accept-Encoding": "gzip, deflate"})
    assert zipped["Content-Encoding"] == "gzip"
    assert gzip.decompress(zipped.content) == plain.content
    assert "Accept-Encoding" in zipped["Vary"]
    assert "Accept-Encoding" in plain["Vary"]
    assert plain["ETag"] != zipped["ETag"]


@pytest.mark.parametrize("path", ["/snippet.js", "/demo/"])
def test_a_file_that_did_not_change_is_not_sent_again(client: Client, path: str) -> None:
    first = client.get(path)
    again = client.get(path, headers={"If-None-Match": first["ETag"]})
    other = client.get(path, headers={"If-None-Match": '"other"'})
    assert (again.status_code, again.content) == (304, b"")
    assert (other.status_code, other.content) == (200, first.content)
    for name in ("ETag", "Cache-Control", "Vary", "Content-Security-Policy"):
        assert again[name] == first[name]
    for name in ("Access-Control-Allow-Origin", "Cross-Origin-Resource-Policy", "Document-Policy"):
        assert again.get(name) == first.get(name)


@pytest.mark.parametrize("path", ["/snippet.js", "/demo/"])
def test_only_reading_is_allowed(client: Client, path: str) -> None:
    assert client.head(path).status_code == 200
    assert client.post(path).status_code == 405


def test_the_demo_page_may_profile_itself_and_load_only_its_own_files(client: Client) -> None:
    response = client.get("/demo/")
    assert response["Document-Policy"] == "js-profiling"
    assert response["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; ")
    assert "unsafe" not in response["Content-Security-Policy"]
    assert response["X-Content-Type-Options"] == "nosniff"


def test_the_demo_page_includes_the_snippet_for_the_demo_project(client: Client) -> None:
    html = client.get("/demo/").content.decode()
    assert 'src="../snippet.js" data-key="demo" data-release="demo-1" data-page="/demo"' in html
    assert 'href="../projects/demo/"' in html


@pytest.mark.parametrize("name", [name for name in DEMO_FILES if name])
def test_each_file_of_the_demo_page_is_served(client: Client, name: str) -> None:
    response = client.get(f"/demo/{name}")
    assert response.content == (DEMO_DIR / name).read_bytes()
    assert response["Content-Type"] == DEMO_FILES[name][1]


@pytest.mark.parametrize("name", ["index.html", "nothing.js", "..", "..%5Csnippet_views.py"])
def test_nothing_but_the_named_files_is_served(client: Client, name: str) -> None:
    assert client.get(f"/demo/{name}").status_code == 404
