"""What a process caches of projects is bounded for all of them together, and of funcs with long texts not at all."""

import pytest
from pytest_django import Settings

from aggregate.selectors.code import symbols
from aggregate.selectors.code.symbols import MAX_CACHED_CHARS, load_symbols
from profcore.trace.funcs import FuncKey
from projects.models import Project
from tests.builders import make_project

RULE = {"action": "retitle", "field": "name", "pattern": "f*", "title": "A function"}


@pytest.fixture
def projects(db: None) -> list[Project]:
    made = [make_project(f"p{n}") for n in range(3)]
    Project.objects.update(display_rules=[RULE])
    return made


def show(project: Project, *names: str) -> None:
    code = load_symbols(project.pk)
    for name in names:
        shown = code.show(FuncKey(None, None, None, name))
        assert shown is not None
        assert shown.title == "A function"


def count_cached() -> dict[int, int]:
    return {project: len(decisions) for project, (_, decisions) in symbols._decision_caches.items()}


def test_all_projects_together_are_bounded(projects: list[Project], settings: Settings) -> None:
    settings.LABELS_CACHE_ROWS = 5
    first, second, third = projects
    show(first, "f1", "f2", "f3")
    show(second, "f1", "f2")
    assert count_cached() == {first.pk: 3, second.pk: 2}
    show(third, "f1")
    show(second, "f3")
    assert count_cached() == {second.pk: 3, third.pk: 1}


def test_funcs_with_long_texts_are_shown_and_not_cached(projects: list[Project]) -> None:
    show(projects[0], "f" * MAX_CACHED_CHARS, "f" * (MAX_CACHED_CHARS + 1))
    assert count_cached() == {projects[0].pk: 1}
