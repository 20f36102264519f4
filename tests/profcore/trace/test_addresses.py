"""The spelling of addresses: each address has one, whoever writes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.symbolicate.paths import script_uri
from profcore.trace.addresses import MAX_LABELS, canonical_path, canonical_uri, escape_path, wildcard_forms
from profcore.trace.funcs import resource_uri

AT = "https://shop.example/"
# A file of a build; the spellings of its address in traces; the canonical one.
SPELLINGS = [
    ("app/[slug]/page.js", "app/[slug]/page.js app/%5Bslug%5D/page.js app/%5bslug%5d/page.js", "app/[slug]/page.js"),
    ("@modal/x.js", "@modal/x.js %40modal/x.js", "@modal/x.js"),
    ("app/(shop)/page.js", "app/(shop)/page.js app/%28shop%29/page.js", "app/(shop)/page.js"),
    ("a|b/é.js", "a|b/é.js a%7Cb/%C3%A9.js a%7cb/%c3%a9.js", "a|b/%C3%A9.js"),
    ("a b.js", "a%20b.js", "a%20b.js"),
    ("a^{b}`.js", "a^{b}`.js a%5E%7bb%7D%60.js", "a%5E%7Bb%7D%60.js"),
    ("main-~_.js", "main-~_.js main%2d%7E%5f%2Ejs %6Dain-~_.js", "main-~_.js"),
    ("a,b;c=d&e+f.js", "a,b;c=d&e+f.js a%2Cb%3Bc%3Dd%26e%2Bf.js", "a,b;c=d&e+f.js"),
    ("50%.js", "50%25.js 50%.js", "50%25.js"),
    ("a%20b.js", "a%2520b.js", "a%2520b.js"),
    ("a#b?c.js", "a%23b%3Fc.js a%23b%3fc.js", "a%23b%3Fc.js"),
    ("\U0001f642.js", "\U0001f642.js %F0%9F%99%82.js", "%F0%9F%99%82.js"),
]


@pytest.mark.parametrize(("file", "spellings", "canonical"), SPELLINGS)
def test_each_spelling_of_an_address_is_one(file: str, spellings: str, canonical: str) -> None:
    assert script_uri(AT, file) == AT + canonical
    for spelling in spellings.split():
        assert resource_uri(AT + spelling + "?v=1#x", None, "") == AT + canonical
        folder, _, name = spelling.rpartition("/")
        if folder:
            assert script_uri(AT + folder, file.rpartition("/")[2]) == AT + canonical, name


@pytest.mark.parametrize(
    "uri",
    [
        "https://x/a%2Fb.js",
        "https://x/a%25b.js",
        "https://x/%E9.js",
        "https://x//a/",
        "https://x",
        "foo%5B bar.js",
        "a/é",
    ],
)
def test_what_would_mean_something_else_stays(uri: str) -> None:
    assert canonical_uri(uri) == uri


def test_an_inline_script_keeps_the_spelling_of_its_route() -> None:
    page_url = AT + "gr%C3%B6%C3%9Fe/%5b1%5d"
    assert resource_uri(page_url + "?a=1", page_url, "/größe/:id") == AT + "größe/:id"
    assert resource_uri(page_url, AT, "/") == AT + "gr%C3%B6%C3%9Fe/[1]"
    assert resource_uri("blob:https://x/%5b", AT, "/") == "blob:https://x"
    assert resource_uri("data:text/javascript,%5b", AT, "/") == "data:"


def test_addresses_that_differ_stay_different() -> None:
    uris = ["a/b.js", "a%2Fb.js", "a%252Fb.js", "A/b.js", "a/b.js/", "a//b.js", "a%20b.js", "a+b.js", "a%3Fb.js"]
    assert len({canonical_uri(AT + uri) for uri in uris}) == len(uris)


@given(st.text(st.sampled_from("aé%25BFf/[]|^ @(\"'\ud83d\n"), max_size=20))
def test_a_canonical_path_is_its_own(path: str) -> None:
    once = canonical_path(path)
    assert canonical_path(once) == once
    assert once.isascii()
    assert once.count("/") == path.count("/")
    assert canonical_path(escape_path(path)) == escape_path(path)


def test_a_wildcard_covers_subdomains_with_the_same_scheme_port_and_path() -> None:
    assert wildcard_forms("https://a.b.example:8443/x/*.js") == [
        "https://*.b.example:8443/x/*.js",
        "https://*.example:8443/x/*.js",
    ]
    assert wildcard_forms("https://localhost/x") == wildcard_forms("a.b.c") == wildcard_forms("") == []
    assert len(wildcard_forms("https://" + "a." * 1_000 + "/x")) == MAX_LABELS
