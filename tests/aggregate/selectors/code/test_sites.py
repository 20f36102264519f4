"""A project's own sites: the origins of its keys, and where a key takes any, those of its inline scripts."""

import pytest

from aggregate.fold import interning
from aggregate.fold.interning import intern_funcs
from aggregate.selectors.code.sites import select_sites
from profcore.caching import clear_caches
from profcore.code.sites import sites_of
from profcore.trace.funcs import FuncKey
from projects.creation import create_project
from projects.models import Project
from tests.builders import make_group, make_project

pytestmark = pytest.mark.django_db


def intern(project: Project, *uris: str | None) -> None:
    """Interns a func of each URI, as the fold does."""
    intern_funcs(project.pk, [FuncKey(uri, 1, 1, "f") for uri in uris])


def test_an_inline_script_makes_its_origin_a_site_where_any_origin_is_taken() -> None:
    project = make_project()
    make_group(project, "1", "/cart")
    make_group(project, "1", "/a/b?x")
    make_group(project, "1", "not a path")
    intern(
        project,
        "https://shop.example/cart",
        "http://other.example:8080/a/b?x",
        "https://cdn.example/lib.js",  # no page
        "https://cdn.example/cart/app.js",
        "blob:https://blob.example/cart",
        "https:///cart",
        "//scheme.example/cart",
        "https://bare.example",
        "not a path",
        f"https://{'long.' * 60}example/cart",
        None,
    )
    assert select_sites(project.pk) == sites_of(["https://shop.example", "http://other.example:8080"])


def test_a_projects_own_origins_are_enough_where_they_are_named() -> None:
    project, _ = create_project(slug="named", key="named-key", origins=["https://shop.example"])
    make_group(project, "1", "/cart")
    intern(project, "https://guest.example/cart")
    assert select_sites(project.pk) == sites_of(["https://shop.example"])


def test_the_sites_are_cached_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project()
    make_group(project, "1", "/cart")
    assert select_sites(project.pk) == frozenset()
    intern(project, "https://shop.example/cart")
    assert select_sites(project.pk) == frozenset()
    monkeypatch.setattr("aggregate.selectors.code.sites.SITES_CACHE_S", 0.0)
    assert select_sites(project.pk) == sites_of(["https://shop.example"])
    clear_caches()
    assert len(select_sites(project.pk)) == 1


def test_made_up_origins_do_not_push_the_first_ones_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "MAX_ORIGINS", 2)
    project = make_project()
    make_group(project, "1", "/cart")
    for name in ("shop", "shop", "two", "three", "four"):
        intern(project, f"https://{name}.example/cart")
    assert select_sites(project.pk) == sites_of(["https://shop.example", "https://two.example"])
