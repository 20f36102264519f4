"""`meta` of a profile: the title and "Profile Info" of the viewer."""

import re
from collections.abc import Sequence
from typing import Final

from profcore.formats.firefox.categories import CATEGORIES
from profcore.formats.firefox.sections import EVERYTHING
from profcore.formats.firefox.shapes import (
    GECKO_PROFILE_VERSION,
    PROCESSED_PROFILE_VERSION,
    ExtraSection,
    MarkerSchema,
    Meta,
    SampleUnits,
)
from profcore.formats.firefox.tables import safe_text
from profcore.formats.slice import SliceExport

VERSION: Final = re.compile("[0-9.]*[0-9]")


def build_meta(
    *,
    title: str,
    query: str,
    link: str | None,
    interval_ms: float,
    started_at_ms: int,
    end_ms: float,
    axis_from_ms: float = 0.0,
    releases: Sequence[str],
    sections: list[ExtraSection],
    visible: list[int],
    schemas: Sequence[MarkerSchema] = (),
    units: SampleUnits | None = None,
) -> Meta:
    """Returns `meta`. Time 0 is `started_at_ms`; `end_ms` is the end of the axis, after all samples, and not 0.

    The viewer shows the axis from `axis_from_ms` on. Its title is `title` and the version of the only release.
    """
    only_release = safe_text(releases[0]) if len(releases) == 1 else None
    return Meta(
        version=GECKO_PROFILE_VERSION,
        preprocessedProfileVersion=PROCESSED_PROFILE_VERSION,
        interval=interval_ms,
        startTime=started_at_ms,
        profilingStartTime=axis_from_ms,
        profilingEndTime=end_ms,
        processType=0,
        stackwalk=0,
        product=safe_text(title),
        symbolicated=True,
        symbolicationNotSupported=True,
        usesOnlyOneStackType=True,
        sourceCodeIsNotOnSearchfox=True,
        keepProfileThreadOrder=True,
        importedFrom="JS Self-Profiling API, by Fieldflame",
        categories=list(CATEGORIES),
        markerSchema=list(schemas),
        initialVisibleThreads=visible,
        initialSelectedThreads=[0],
        extra=sections,
        misc=_version_of(only_release),
        appBuildID=only_release,
        sourceURL=_web_link(link),
        arguments=safe_text(query) or EVERYTHING,
        sampleUnits=units,
    )


def name_slice(export: SliceExport) -> str:
    """Returns the label of a track: its only page, the number of pages, or the project if no page is known."""
    if len(export.pages) > 1:
        return f"{len(export.pages)} pages"
    return export.pages[0] if export.pages else export.project


def _version_of(release: str | None) -> str | None:
    """Returns `misc`: the viewer's title shows the digits and dots at its end as the version, so all must be such."""
    return None if release is None or not VERSION.fullmatch(release) else "rv:" + release


def _web_link(link: str | None) -> str | None:
    return safe_text(link) if link is not None and link.startswith(("https://", "http://")) else None
