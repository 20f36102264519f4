"""The function `draw` of a project, the addresses of its page and parts, and these as text."""

from django.test import Client

from aggregate.models import Func
from projects.models import Project
from tests.dashboard.pages.reading import text_of

BETWEEN = {"base_release": "1.0.0", "head_release": "2.0.0"}


def draw(project: Project) -> Func:
    return Func.objects.get(project=project, name="draw")


def address_of(project: Project, part: str = "", func: Func | None = None) -> str:
    return f"/projects/{project.slug}/functions/{(func or draw(project)).id}/" + (f"parts/{part}/" if part else "")


def part_text(client: Client, project: Project, part: str, query: str = "") -> str:
    return text_of(client, f"{address_of(project, part)}?{query}")
