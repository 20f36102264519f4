"""A shop with two releases of labelled functions, and its exports."""

from typing import Any

from aggregate.selectors.exports.requests import ExportQuery, resolve_export, select_export
from aggregate.selectors.slice.slices import Slice
from profcore.formats.registry import EXPORTERS
from projects.models import Project
from tests.aggregate.bundled_views import HASHED, label, view
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project

TEXT = "export function render() {}\nexport function total() {}\n"


def make_shop() -> Project:
    """Makes two releases of hashed bundles: `a` and `b` of 1.0.0 are `c` and `a` of 2.0.0, `render` and `total`."""
    project = make_project()
    post(
        "KEY-shop",
        view("old", "a\na b\na b", "1.0.0", HASHED["1.0.0"]),
        view("new", "c\nc a\nc a\nc a", "2.0.0", HASHED["2.0.0"]),
    )
    fold_all()
    label(project, "1.0.0", HASHED["1.0.0"], {"a": "render", "b": "total"}, is_shared=True, content=TEXT)
    label(project, "2.0.0", HASHED["2.0.0"], {"c": "render", "a": "total"}, is_shared=True, content=TEXT)
    return project


def write(project: Project, name: str, slice_: Slice | None = None, **query: Any) -> bytes:
    exporter = EXPORTERS[name]
    request = resolve_export(slice_ or Slice(project_id=project.pk), exporter, ExportQuery(**query))
    return b"".join(exporter.write(select_export(request, project="Shop")))
