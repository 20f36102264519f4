"""An app that calls a framework, and display rules that show the framework's functions as one."""

from typing import Any

from aggregate.selectors.slice.slices import Slice
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.envelopes import make_envelope

NAMES = ("app", "rRender", "rHooks", "rEffect", "card")
FOLD = {"action": "fold", "field": "name", "pattern": "r*", "title": "React"}
GROUP = {**FOLD, "action": "group"}
# `app` calls the framework, which calls itself, a component, and itself again: the last sample has two runs of it.
STACKS = "app rRender\napp rRender rHooks\napp rRender rHooks card\napp rRender rHooks card rHooks rEffect\napp\n-\napp"


def show(project: Project, *rules: dict[str, Any]) -> Slice:
    project.display_rules = list(rules)
    project.save(update_fields=["display_rules"])
    return Slice(project_id=project.pk)


def envelope(name: str, columns: str = STACKS, **fields: Any) -> dict[str, Any]:
    """Returns a view in which each function stands at a place of its own, whatever ran first."""
    made = make_envelope(name, columns, **fields)
    for frame in made["trace"]["frames"]:
        frame["column"] = 1 + NAMES.index(frame["name"])
    return made


def make_app() -> Project:
    """Returns a project with three folded views of the app."""
    project = make_project()
    post("KEY-shop", *(envelope(f"v{n}") for n in range(2)), envelope("w", "rHooks\nrHooks app"))
    fold_all()
    return project
