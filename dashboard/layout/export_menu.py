"""The export buttons of a page: open in the viewer, copy a link, download as any format."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from aggregate.selectors.slice.slices import Slice
from dashboard.web.queries import write_query
from profcore.formats.registry import EXPORTERS, FIREFOX, Kind
from profcore.numbers import write_ms
from projects.models import Project

# So that a double click in the viewer shows code.
WITH_TEXTS: Final = ("sources", "content")
# The title of a viewer, and the format that it gets.
OTHER_VIEWERS: Final = {"speedscope": ("speedscope", "speedscope"), "perfetto": ("Perfetto", "trace-event")}
ID_CHARS: Final = 8  # of a view's id, which is enough to distinguish a few views


@dataclass(frozen=True, slots=True)
class Download:
    """One format of the menu: its title, the tools that read it, its address, and its file name suffix."""

    title: str
    purpose: str
    link: str
    suffix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Another viewer of the slice: speedscope fetches it by a link for anyone, Perfetto gets it from the page."""

    name: str
    title: str
    origin: str
    profile_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportMenu:
    """The buttons of one slice, or of the difference of two, which the viewer can compare too.

    The viewer opens `opened_url`, which has texts of sources as far as they are kept. A link for anyone has no texts.
    """

    profile_url: str
    opened_url: str
    profile_name: str
    profile_search: str  # what the viewer searches for when it opens
    links_url: str
    viewer_origin: str
    viewers: Sequence[Viewer]
    downloads: Sequence[Download]
    link_life: str  # how long a copied link works
    is_difference: bool = False


def make_profile_url(project: Project, slice_: Slice) -> str:
    """Returns the address of a slice's gzipped profile for the Firefox Profiler, with texts of sources."""
    return _link_export(project, slice_.params(), FIREFOX.name, with_texts=True)


def _link_export(project: Project, pairs: Sequence[tuple[str, str]], name: str, *, with_texts: bool = False) -> str:
    """Returns the address of an export in the format `name`; `pairs` say what is exported."""
    packed = [("compress", "gzip")] if name == FIREFOX.name else []  # the viewer reads it, and it is the largest
    query = write_query([*pairs, ("format", name), *packed, *([WITH_TEXTS] if with_texts else [])])
    return f"{reverse('api-profile', args=[project.slug])}?{query}"


def name_view(started_at: datetime, view_id: UUID) -> str:
    """Returns when a view started, and the first characters of its id."""
    return f"{started_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC {str(view_id)[:ID_CHARS]}"


def build_export_menu(
    project: Project, slice_: Slice, *, sides: Sequence[tuple[str, str]] = (), func: str = "", view: str = ""
) -> ExportMenu:
    """Returns the menu of a slice; with `sides` (`base_release` and so on), of their difference within it.

    The title has the name of the `func` that the page is about, and the viewer opens with a search for it; or it has
    the name of the `view`.
    """
    kind: Kind = "difference" if sides else "slice"
    exported = [*slice_.params(), *sides]
    base, head = ([value for name, value in sides if name.startswith(side)] for side in ("base_", "head_"))
    between = [*base, "to", *head] if sides else []
    parts = [func, "in"] if func else []
    parts += [project.slug, *between, *slice_.releases, *slice_.pages, *([view] if view else [])]
    downloads = [
        Download(exporter.title, exporter.purpose, _link_export(project, exported, name), exporter.suffix)
        for name, exporter in EXPORTERS.items()
        if kind in exporter.kinds
    ]
    return ExportMenu(
        profile_url=_link_export(project, exported, FIREFOX.name),
        opened_url=_link_export(project, exported, FIREFOX.name, with_texts=True),
        profile_name=" ".join(parts),
        profile_search=max(func.split(","), key=len).strip(),  # the viewer takes a comma for several searches
        links_url=reverse("api-links", args=[project.slug]),
        viewer_origin=settings.VIEWER_ORIGIN,
        viewers=[
            Viewer(name=name, title=title, origin=origin, profile_url=_link_export(project, exported, export))
            for name, (title, export) in OTHER_VIEWERS.items()
            if (origin := settings.OTHER_VIEWERS.get(name)) and kind in EXPORTERS[export].kinds
        ],
        downloads=downloads,
        link_life=write_ms(settings.EXPORT_LINK_DEFAULT_S * 1_000),
        is_difference=kind == "difference",
    )
