"""Examining a page: one visit in a process of its own, then all checks of what it brought."""

from collections.abc import Iterator
from typing import Final

import msgspec
from django.conf import settings

from aggregate.child_process import CrashedAlone, run_alone
from aggregate.doctor.addresses import MAX_URL_CHARS
from aggregate.doctor.findings import DoctorReport, Finding, problem, quote, warning
from aggregate.doctor.header_checks import check_headers
from aggregate.doctor.script_checks import check_loading, check_maps
from aggregate.doctor.tag_checks import (
    check_key,
    check_place,
    check_policy,
    check_release,
    check_served,
    find_live_key,
    find_own_key,
    find_tags,
    origin_of,
    read_release,
)
from aggregate.doctor.visiting import Hop, VisitResult, VisitTask, result_decoder
from projects.models import Project

VISIT_MODULE: Final = "aggregate.doctor.visiting"
SPARE_S: Final = 3  # for the process to start, and to write its result when its time is over


def examine(url: str, *, project: Project | None = None, key: str = "", server: str = "") -> DoctorReport:
    """Visits a page and returns what was found.

    With a project, only its keys count as active. `key` is the one that the tag should have, `server` the address of
    this Fieldflame for the lines to add.
    """
    url = url.strip()
    if "://" not in url:
        url = f"https://{url}"
    result = run_visit(url[: MAX_URL_CHARS + 1])
    page = last_hop(result)
    findings = list(find_all(result, project=project, key=key, server=server))
    return DoctorReport(url=url, final_url=page.url if page else url, findings=findings)


def run_visit(url: str) -> VisitResult:
    """Returns the result of a visit, which ends within the time that one may take."""
    task = VisitTask(
        url=url,
        ports=settings.DOCTOR_PORTS,
        allowed=settings.DOCTOR_ALLOW_PRIVATE,
        max_page_bytes=settings.DOCTOR_MAX_PAGE_BYTES,
        max_script_bytes=settings.DOCTOR_MAX_SCRIPT_BYTES,
        max_scripts=settings.DOCTOR_MAX_SCRIPTS,
        time_s=settings.DOCTOR_TIME_S,
    )
    try:
        answer = run_alone(VISIT_MODULE, msgspec.msgpack.encode(task), timeout_s=task.time_s + SPARE_S)
    except CrashedAlone:
        return VisitResult(failure="Reading the page took more time or memory than a visit may take.")
    return result_decoder.decode(answer)


def last_hop(result: VisitResult) -> Hop | None:
    """Returns the answer that is the page, None if there is none."""
    if result.hops and not result.failure:
        return result.hops[-1]
    return result.cookie_hops[-1] if result.cookie_hops and not result.cookie_failure else None


def find_all(result: VisitResult, *, project: Project | None, key: str, server: str) -> Iterator[Finding]:
    """Yields all findings of a visit."""
    page = last_hop(result)
    if result.failure:
        yield problem("visit", f"The page cannot be read. {result.failure}", about=[hop.url for hop in result.hops])
    if result.cookie_failure:
        yield warning(
            "visit-cookies", f"With the cookies that it sets, the page cannot be read. {result.cookie_failure}"
        )
    if page is None:
        if result.out_of_time and not result.failure:
            yield problem("visit", f"The page was not answered within {settings.DOCTOR_TIME_S} seconds.")
        return
    if page.status >= 400:
        yield warning(
            "visit", f"The page is answered {page.status}; what follows is about that answer.", about=[page.url]
        )
    yield from check_headers(result)
    if result.markup is None:
        kind = page.header("content-type") or "without a type"
        yield problem(
            "html",
            "The time was over before the page was read."
            if result.out_of_time
            else f"The answer is not HTML but {quote(kind)}.",
        )
        return
    if result.is_cut:
        yield warning("html", f"Only the first {settings.DOCTOR_MAX_PAGE_BYTES:,} bytes of the page were read.")
    yield from find_in_page(result, page, project=project, key=key, server=server)
    if result.out_of_time:
        yield warning(
            "time", f"The visit ended after {settings.DOCTOR_TIME_S} seconds; some scripts were not looked at."
        )


def find_in_page(
    result: VisitResult, page: Hop, *, project: Project | None, key: str, server: str
) -> Iterator[Finding]:
    """Yields what the page itself shows: the tag, its policy, and the scripts."""
    tags = find_tags(result, page)
    host = server or f"https://fieldflame.example{settings.URL_PATH}"
    public_key = find_own_key(project) if project and not key else key
    data_key = public_key or "PUBLIC_KEY"
    line = f'<script src="{host}/snippet.js" data-key="{data_key}" data-release="1.4.2" crossorigin></script>'
    yield from check_place(result, tags, tag_line=line)
    release, live = "", None
    if tags:
        yield from check_served(result, tags[0])
        yield from check_key(tags[0], page, project=project, wanted=key)
        yield from check_release(tags[0], page)
        yield from check_policy(result, tags[0], page)
        release, live = read_release(tags[0], page), find_live_key(tags[0].key, project)
    yield from check_loading(result, origin_of(page.url), tags)
    yield from check_maps(result, tags, live, release, origin_of(page.url))
