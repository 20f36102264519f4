"""The names of sources and scripts."""

import pytest

from profcore.symbolicate.paths import MAX_PATH_CHARS, has_content_hash, is_url_prefix, script_uri, source_path
from tests.urls import LOCAL_FILE


@pytest.mark.parametrize(
    ("name", "file", "path"),
    [
        ("../../src/a.ts", "assets/main.js", "src/a.ts"),
        ("../../../src/a.ts", "assets/chunks/c.js", "src/a.ts"),
        ("a.ts", "assets/main.js", "assets/a.ts"),
        ("./a.ts", "main.js", "a.ts"),
        ("../packages/ui/src/a.tsx", "main.js", "packages/ui/src/a.tsx"),
        ("webpack://app/./src/a.js", "main.js", "src/a.js"),
        ("webpack:///./src/a.js?1f2e", "js/main.js", "src/a.js"),
        ("webpack-internal:///./src/a.js", "main.js", "src/a.js"),
        ("webpack://app/../../node_modules/b/i.js", "main.js", "node_modules/b/i.js"),
        ("turbopack:///[project]/src/a.ts", "main.js", "src/a.ts"),
        ("https://shop.example/src/a.ts?v=1", "main.js", "src/a.ts"),
        (f"{LOCAL_FILE}/build/ci/app/src/a.ts", "main.js", "build/ci/app/src/a.ts"),
        ("/build/ci/app/node_modules/b/i.js", "main.js", "node_modules/b/i.js"),
        ("C:\\work\\app\\src\\a.ts", "main.js", "work/app/src/a.ts"),
        (
            "../node_modules/.pnpm/b@1.0.0/node_modules/b/i.js",
            "main.js",
            "node_modules/.pnpm/b@1.0.0/node_modules/b/i.js",
        ),
        ("\0virtual:x", "main.js", "x"),
        ("", "main.js", ""),
        ("../" * 1_000 + "a.js", "main.js", "a.js"),
    ],
)
def test_a_source_has_one_path_in_all_maps(name: str, file: str, path: str) -> None:
    assert source_path(name, file) == path


def test_a_path_is_bounded() -> None:
    assert len(source_path("a/" * 10_000, "main.js")) == MAX_PATH_CHARS


def test_a_script_has_the_uri_that_its_funcs_have() -> None:
    assert script_uri("https://user:x@shop.example/a/", "b/c d.js") == "https://shop.example/a/b/c%20d.js"
    assert script_uri("HTTPS://Shop.Example:443/A", "é.js") == "https://shop.example/A/%C3%A9.js"
    assert script_uri("http://shop.example:8080", "b.js") == "http://shop.example:8080/b.js"


@pytest.mark.parametrize(
    ("prefix", "uri"),
    [
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/b.js"),
        ("https://MÜNCHEN.example:443", "https://xn--mnchen-3ya.example/b.js"),
        ("https://münchen.example:8443/", "https://xn--mnchen-3ya.example:8443/b.js"),
        ("https://*.münchen.example/", "https://*.xn--mnchen-3ya.example/b.js"),
        ("https://shop.example:443/a", "https://shop.example/a/b.js"),
        ("http://shop.example:80/a", "http://shop.example/a/b.js"),
        ("http://shop.example:443/", "http://shop.example:443/b.js"),
        ("https://shop.example/%5Ba%5D/é/", "https://shop.example/[a]/%C3%A9/b.js"),
        (f"{LOCAL_FILE}/opt/app/resources/app.asar/", f"{LOCAL_FILE}/opt/app/resources/app.asar/b.js"),
        (f"{LOCAL_FILE.upper()}/C:/Program Files/App", f"{LOCAL_FILE}/C:/Program%20Files/App/b.js"),
        ("file://localhost/opt", f"{LOCAL_FILE}/opt/b.js"),
        ("app://bundle", "app://bundle/b.js"),
        ("https://münchen..example/", "https://münchen..example/b.js"),
    ],
)
def test_a_prefix_is_spelled_as_browsers_do(prefix: str, uri: str) -> None:
    assert is_url_prefix(prefix)
    assert script_uri(prefix, "b.js") == uri


@pytest.mark.parametrize(
    ("prefix", "is_one"),
    [
        ("https://shop.example", True),
        ("app://bundle/", True),
        ("shop.example/assets", False),
        ("/assets", False),
        ("https://shop.example/?a=1", False),
        ("https://[/", False),
        ("https://shop.example:port/", False),
        ("https:///assets", False),
        (f"{LOCAL_FILE}/", True),
        ("file:opt", False),
        ("https://*.shop.example/", True),
        ("https://*.shop.example:8443/a*b/", True),
        ("https://*./", False),
        ("https://*/", False),
        ("https://a.*.shop.example/", False),
        ("https://*shop.example/", False),
        ("https://*.*.example/", False),
    ],
)
def test_a_prefix_is_a_url_with_a_host(prefix: str, is_one: bool) -> None:
    assert is_url_prefix(prefix) is is_one


@pytest.mark.parametrize(
    ("name", "has_one"),
    [
        ("main-LYD7EPAI.js", True),
        ("chunk-BERNWOCG.mjs", True),
        ("index-Di9rgTda.js", True),
        ("main.3f2a1b9c.js", True),
        ("main.3f2a1b9c.chunk.js", True),
        ("main.js", False),
        ("jquery-3.7.1.min.js", False),
        ("report.20260101.js", False),
        ("main-component.js", False),
        ("my-EventBus.js", False),
        ("deadbeef.js", False),
    ],
)
def test_a_content_hash_is_recognised_by_its_look(name: str, has_one: bool) -> None:
    assert has_content_hash(f"https://shop.example/3f2a1b9c/{name}") is has_one
