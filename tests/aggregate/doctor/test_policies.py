"""Sources of a Content-Security-Policy, as its specification matches them."""

import pytest

from aggregate.doctor.policies import matches_source

PAGE = "https://shop.example/cart"


@pytest.mark.parametrize(
    ("source", "url", "is_match"),
    [
        ("*", "https://any.example/a.js", True),
        ("*", "data:text/javascript,1", False),
        ("'self'", "https://shop.example/a.js", True),
        ("'self'", "https://shop.example:8443/a.js", False),
        ("'self'", "https://cdn.example/a.js", False),
        ("https:", "https://any.example/a.js", True),
        ("https:", "http://any.example/a.js", False),
        ("http:", "https://any.example/a.js", True),
        ("ff.example", "https://ff.example/snippet.js", True),
        ("FF.example", "https://ff.example/snippet.js", True),
        ("ff.example", "http://ff.example/snippet.js", False),
        ("http://ff.example", "https://ff.example/snippet.js", True),
        ("https://ff.example", "https://ff.example:8443/a.js", False),
        ("https://ff.example:8443", "https://ff.example:8443/a.js", True),
        ("https://ff.example:*", "https://ff.example:8443/a.js", True),
        ("https://*.example", "https://ff.example/a.js", True),
        ("https://*.ff.example", "https://ff.example/a.js", False),
        ("https://ff.example/ingest/", "https://ff.example/ingest/v1/traces", True),
        ("https://ff.example/ingest", "https://ff.example/ingest/v1/traces", False),
        ("https://ff.example/snippet.js", "https://ff.example/snippet.js?x=1", True),
        ("https://ff.example/Snippet.js", "https://ff.example/snippet.js", False),
        ("'none'", "https://ff.example/a.js", False),
        ("'unsafe-inline'", "https://ff.example/a.js", False),
        ("https://ff.example:99999999", "https://ff.example/a.js", False),
        ("((((", "https://ff.example/a.js", False),
    ],
)
def test_a_source_matches_as_in_browsers(source: str, url: str, is_match: bool) -> None:
    assert matches_source(source, url, PAGE) is is_match
