"""A site, a project whose key its page has, and the settings that let the doctor visit this machine."""

from collections.abc import Callable, Iterator

import pytest
from pytest_django import Settings

from aggregate.doctor.examining import examine
from aggregate.doctor.findings import Finding
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.doctor.site import VisitedSite, by_check, serve_visited, visit_here


@pytest.fixture
def site() -> Iterator[VisitedSite]:
    with serve_visited() as served:
        yield served


@pytest.fixture
def cdn() -> Iterator[VisitedSite]:
    """Another site: another port is another origin."""
    with serve_visited() as served:
        yield served


@pytest.fixture
def doctor(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, site: VisitedSite, cdn: VisitedSite, db: None
) -> Callable[..., dict[str, Finding]]:
    """Examines a page of the site, in this process. The sites' ports and addresses are allowed."""
    settings.DOCTOR_PORTS = [site.port, cdn.port]
    settings.DOCTOR_ALLOW_PRIVATE = ["127.0.0.1"]
    settings.DOCTOR_TIME_S = 300  # a loaded machine is slow
    monkeypatch.setattr("aggregate.doctor.examining.run_alone", visit_here)

    def look(path: str = "/", *, project: Project | None = None, key: str = "") -> dict[str, Finding]:
        return by_check(examine(f"{site.origin}{path}", project=project, key=key).findings)

    return look


@pytest.fixture
def shop(site: VisitedSite, cdn: VisitedSite, db: None) -> Project:
    """A project whose key `shop-key` may be used from the site; the other site is its own too."""
    project, _ = create_project(slug="shop", key="shop-key", origins=[site.origin, cdn.origin])
    site.set_script("/snippet.js")
    return project
