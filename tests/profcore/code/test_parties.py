"""The party of a script: own sites, known third parties from the stored list, other sites, and a project's rules."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.code.parties import (
    FIRST_PARTY,
    MAX_HOST_CHARS,
    Party,
    PartyRule,
    known_parties,
    known_party_of,
    rule_of,
)
from profcore.code.sites import owner_of, party_of, sites_of

SHOP = sites_of(["https://shop.example"])


def test_the_kept_list_says_where_it_is_from_and_names_the_usual_ones() -> None:
    listed = known_parties()
    assert (listed.package, listed.licence) == ("third-party-web", "MIT")
    assert listed.integrity.startswith("sha512-")
    assert "Copyright" in listed.licence_text
    assert len(listed.parties) > 1_000


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("www.googletagmanager.com", "Google Tag Manager"),
        ("connect.facebook.net", "Facebook"),
        ("CONNECT.facebook.net.", "Facebook"),
        ("cdn.jsdelivr.net", "JSDelivr CDN"),
        ("shop.example", None),
        ("net", None),
        ("", None),
    ],
)
def test_a_known_third_party_is_named_by_its_domain(host: str, name: str | None) -> None:
    party = known_party_of(host)
    assert (party and party.name) == name


@pytest.mark.parametrize(
    ("uri", "party"),
    [
        ("https://static.shop.example/app.js", Party(True, FIRST_PARTY, None)),
        ("https://www.googletagmanager.com/gtag/js", Party(False, "Google Tag Manager", "tag-manager")),
        ("https://cdn.unknown-widgets.co.uk/x.js", Party(False, "unknown-widgets.co.uk", None)),
        ("blob:https://shop.example", Party(True, FIRST_PARTY, None)),
        ("data:", None),
        (None, None),
    ],
)
def test_a_script_is_the_first_partys_or_a_named_third_partys(uri: str | None, party: Party | None) -> None:
    assert party_of(uri, SHOP) == party


def test_without_known_sites_only_known_third_parties_are_named() -> None:
    assert party_of("https://a.example/x.js", frozenset()) is None
    assert party_of("https://connect.facebook.net/x.js", frozenset()) == Party(False, "Facebook", "social")


def test_what_the_projects_source_maps_map_is_its_own_whatever_host_serves_it() -> None:
    uri = "https://d1abc.cloudfront.net/app.js"
    assert party_of(uri, SHOP, is_mapped=True) == Party(True, FIRST_PARTY, None)
    agency = party_of(uri, SHOP, [PartyRule("cloudfront.net", "other", "The agency")], is_mapped=True)
    assert agency is not None
    assert (agency.is_first, agency.name) == (False, "The agency")


def test_a_projects_rule_on_the_nearest_domain_decides() -> None:
    rules = [
        PartyRule("shop-assets.example", "own"),
        PartyRule("tags.shop.example", "other", "Tag vendor"),
        PartyRule("live.tags.shop.example", "own"),
    ]
    assert owner_of("https://a.shop-assets.example/x.js", SHOP, rules) == "own"
    assert owner_of("https://tags.shop.example/x.js", SHOP, rules) == "other"
    assert owner_of("https://x.live.tags.shop.example/x.js", SHOP, rules) == "own"
    assert party_of("https://tags.shop.example/x.js", SHOP, rules) == Party(False, "Tag vendor", None)
    assert rule_of("myshop-assets.example", rules) is None


@pytest.mark.parametrize("domain", ["", "https://x.example", "x.example/", "X.example", "*.x.example", "a..b", "a b"])
def test_a_rule_on_no_domain_is_refused(domain: str) -> None:
    with pytest.raises(ValueError, match="domain must be a host"):
        PartyRule(domain, "own")


@given(st.text(max_size=100))
def test_hostile_hosts_raise_nothing(text: str) -> None:
    known_party_of(text)
    for uri in (text, "https://" + text):
        party_of(uri, SHOP, [PartyRule("x.example", "own")])


@pytest.mark.parametrize(
    "host", ["a." * 32_000 + "example", "." * 60_000, "a" * 60_000], ids=["labels", "dots", "long"]
)
def test_a_host_longer_than_the_dns_allows_has_no_party_and_costs_no_more_than_its_length(host: str) -> None:
    rules = [PartyRule("x.example", "own")]
    party_of("https://cdn.example/a.js", SHOP, rules)  # what is read once is read
    tracemalloc.start()
    try:
        assert party_of(f"https://{host}/a.js", SHOP, rules) is None
        assert known_party_of(host) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(host)  # a list of all parent domains of the first one has 1 GB


def test_the_longest_host_still_has_its_nearest_domain() -> None:
    host = ".".join(["a" * 60] * 3) + "." + "b" * 60 + ".x.example"
    assert len(host) == MAX_HOST_CHARS
    assert rule_of(host, [PartyRule("x.example", "own")]) == PartyRule("x.example", "own")
    assert rule_of("a" + host, [PartyRule("x.example", "own")]) is None
