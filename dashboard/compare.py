"""The page "Compare": two slices, func by func, and how sure each difference is.

The page comes at once and fetches the comparison as a part; with `plain=1` it comes with the page.
"""

import hashlib
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response

from aggregate.selectors import (
    Slice,
    SliceError,
    select_arrivals,
    select_releases,
    select_status,
)
from dashboard.access import get_visible_project, may_administer
from dashboard.chooser import Question, build_chooser
from dashboard.compared import Shown, with_shown
from dashboard.comparison_page import Asked, read_comparison, write_csv
from dashboard.display_line import build_display_line
from dashboard.export_menu import build_export_menu
from dashboard.exports import name_file
from dashboard.params import ParamError
from dashboard.shell import build_shell
from dashboard.sides import Sides, find_default_sides, read_asked_sides, settle_sides, trim_bar
from dashboard.unchanged import answer_unchanged, fingerprint_server
from dashboard.views import private_page, private_part, read_page_slice
from ingest.models import Project

PART: Final = "dashboard/_compared.html"


@private_page
@answer_unchanged
def show_compare(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    asked = read_asked_sides(request.GET)
    shown = Shown.read(request.GET)
    whole, slice_ = read_coarse_slice(request, project)
    releases = select_releases(project.pk)
    if not releases:
        return redirect("project", slug)  # there the first steps are told
    now = timezone.now()
    default = find_default_sides(slice_, releases)
    sides, problem = default, None
    if not asked.is_empty:
        try:
            sides = settle_sides(slice_, asked)
        except SliceError as error:
            sides, problem = None, error
    pairs = sides.pairs() if sides else []
    kept = [*pairs, *shown.own_params()]
    common = sides.common if sides else slice_
    shell = build_shell(request, project, common, "compare", releases=releases, now=now, kept=kept)
    assert shell.bar is not None
    is_compared = sides is not None and not sides.are_equal
    context = {
        "project": project,
        "status": select_status(project.pk),
        "arrivals": select_arrivals(common),
        "chooser": build_chooser(
            reverse("compare", args=[slug]),
            shell.bar,
            Question(slice_, asked, sides, default),
            kept=with_shown(shown).params(),
            now=now,
        ),
        "shell": trim_bar(shell, sides.own_fields if sides else frozenset(), has_tags=False),
        "sides": sides,
        "problem": problem,
        "left_out": [pair for pair in whole.params() if pair not in slice_.params()],
        "is_plain": shown.is_plain,
        "is_compared": is_compared,
        "display": build_display_line(request, project, common) if shown.by == "function" else None,
    }
    if sides is not None and is_compared:
        context |= _links(project, sides, shown)
        if shown.is_plain:
            may_change = may_administer(request.user, project)
            context |= read_comparison(project, Asked.of(sides, shown), may_change=may_change)
    return render(request, "dashboard/compare.html", context, status=400 if problem else 200)


def _links(project: Project, sides: Sides, shown: Shown) -> dict[str, object]:
    query = urlencode([*sides.params(), *shown.params()], safe="/:")
    plain = urlencode([*sides.params(), *replace(shown, is_plain=True).params()], safe="/:")
    return {
        "export": build_export_menu(project, sides.common, sides=sides.pairs()),
        "part_link": f"{reverse('compare-table', args=[project.slug])}?{query}",
        "plain_link": f"{reverse('compare', args=[project.slug])}?{plain}",
    }


@private_part
def show_compared(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    asked = _read_question(request, project)
    sides, shown = asked.sides, asked.shown
    may_change = may_administer(request.user, project)
    facts = (sides.params(), shown.params(), may_change, fingerprint_server(), *asked.facts)
    etag = f'W/"{hashlib.blake2b(repr(facts).encode(), digest_size=16).hexdigest()}"'
    response: HttpResponse | None = get_conditional_response(request, etag=etag, response=None)
    if response is None:
        response = render(request, PART, read_comparison(project, asked, may_change=may_change))
    response["ETag"] = etag
    query = urlencode([*sides.params(), *shown.params()], safe="/:")
    response["HX-Replace-Url"] = f"{reverse('compare', args=[slug])}?{query}"  # the address says what is shown
    return response


@private_page
def download_compared(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    asked = _read_question(request, project)
    response = HttpResponse(b"".join(write_csv(asked)), content_type="text/csv; charset=utf-8")
    name = "-".join(name_file(project, side) for side in (asked.sides.base, asked.sides.head))
    response["Content-Disposition"] = f'attachment; filename="compare-{name}.csv"'
    response["X-Content-Type-Options"] = "nosniff"  # names are hostile
    return response


def read_coarse_slice(request: HttpRequest, project: Project) -> tuple[Slice, Slice]:
    """Returns the slice in the address, and what of it two sides can share: whole page views, nothing finer."""
    slice_ = read_page_slice(request, project)
    return slice_, replace(slice_, views=(), traces=(), tags=(), func_over=())


def _read_question(request: HttpRequest, project: Project) -> Asked:
    """Returns what is compared and shown. Raises `SliceError` and `ParamError`."""
    shown = Shown.read(request.GET)
    _, slice_ = read_coarse_slice(request, project)
    asked = read_asked_sides(request.GET)
    if not asked.is_empty:
        return Asked.of(settle_sides(slice_, asked), shown)
    sides = find_default_sides(slice_, select_releases(project.pk))
    if sides is None:
        raise ParamError("base_release", "There is one release alone: name two pages, times or devices to compare.")
    return Asked.of(sides, shown)
