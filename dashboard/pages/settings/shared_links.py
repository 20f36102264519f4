"""Sharing a page by a link, and the settings page "Shared links". Members have their own links, admins see all."""

from datetime import UTC, datetime
from typing import Final, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers

from dashboard.pages.settings.layout import SettingsRequest, settings_page
from dashboard.web.guests.allowed import NotShareable, read_shared_page
from projects.models import SharedLink
from projects.shared_links import (
    MAX_PAGE_CHARS,
    TooManyLinks,
    change_expiry,
    create_shared_link,
    list_expiry_days,
    live_links,
    revoke_links,
)

MAX_ENDED: Final = 100  # listed: links can be created and revoked without a bound
MADE: Final = "dashboard/shared/_made.html"
TERMS: Final = "dashboard/shared/_terms.html"
TOO_MANY: Final = "This project has too many shared links. Revoke some in the settings first."


@settings_page("settings-shared")
def show_links(page: SettingsRequest) -> HttpResponse:
    return render_links(page)


def render_links(page: SettingsRequest, *, status: int = 200, **context: object) -> HttpResponse:
    """Renders the list of the links that a user sees."""
    links = visible_links(page).select_related("creator").order_by("-pk")
    live = list(links & live_links(datetime.now(UTC)))
    ended = list(links.exclude(pk__in=[link.pk for link in live])[: MAX_ENDED + 1])
    shared = {
        "live": live,
        "ended": ended[:MAX_ENDED],
        "is_cut": len(ended) > MAX_ENDED,
        "is_on": bool(list_expiry_days()),
    }
    return page.render("shared_links", status=status, **shared, **context)


def visible_links(page: SettingsRequest) -> QuerySet[SharedLink]:
    """Returns the links that a user may see and revoke: admins all, members their own."""
    links = SharedLink.objects.filter(project=page.project)
    return links if page.may_change else links.filter(creator=page.request.user.pk)


@settings_page("settings-shared", members_post=True)
def share_page(page: SettingsRequest) -> HttpResponse:
    """Creates a link to a page and shows it, once: as a part for the page's script, else in the settings."""
    if not page.has_posted:
        return HttpResponseRedirect(reverse("settings-shared", args=[page.project.slug]))
    try:
        link, clear = make_link(page)
    except (NotShareable, ValidationError) as error:
        return say_problem(page, str(error) if isinstance(error, NotShareable) else error.messages[0])
    except TooManyLinks:
        return say_problem(page, TOO_MANY, status=409)
    context = {"link": link, "url": page.request.build_absolute_uri(reverse("open-shared", args=[clear]))}
    if is_script(page.request):
        response = render(page.request, MADE, {**describe_terms(page, link), **context}, status=201)
    else:
        response = render_links(page, made=link, url=context["url"])
    add_never_cache_headers(response)
    return response


def make_link(page: SettingsRequest) -> tuple[SharedLink, str]:
    """Creates a link to the posted address. Raises `NotShareable`, `TooManyLinks` and `ValidationError`."""
    if page.project.archived_at is not None:
        raise NotShareable("The project is archived. Restore it to share its pages.")
    address = page.request.POST.get("page", "")
    shared = read_shared_page(address[: 2 * MAX_PAGE_CHARS], page.project.slug)
    creator = cast("User", page.request.user)  # logged in
    link, clear = create_shared_link(project=page.project, creator=creator, page=shared, now=datetime.now(UTC))
    page.log_change("shared link created:", link.prefix)
    return link, clear


def say_problem(page: SettingsRequest, message: str, *, status: int = 400) -> HttpResponse:
    """Says why there is no link."""
    if is_script(page.request):
        return render(page.request, "dashboard/shared/_problem.html", {"message": message}, status=status)
    return page.redirect(message, level=messages.ERROR)


@settings_page("settings-shared", members_post=True)
def change_link(page: SettingsRequest, prefix: str) -> HttpResponse:
    """Changes when a link ends, or revokes it."""
    link = visible_links(page).select_related("project").filter(prefix=prefix).first()
    if link is None or not page.has_posted:
        raise Http404("There is no such link.")
    now = datetime.now(UTC)
    days = page.request.POST.get("days", "")
    if not days:
        revoke_links(SharedLink.objects.filter(pk=link.pk), now)
        page.log_change("shared link revoked:", link.prefix)
        link.revoked_at = now
        message = "The link is revoked, and no longer works."
    else:
        try:
            is_live = change_expiry(link, int(days) if days.isascii() and days.isdigit() and len(days) < 5 else 0, now)
        except ValidationError as error:
            return say_problem(page, error.messages[0])
        if not is_live:
            return say_problem(page, "This link has ended. Share the page again.", status=409)
        page.log_change("shared link extended:", link.prefix, f"to {days} days")
        message = "The link now ends at another time."
    if is_script(page.request):
        return render(page.request, TERMS, {"link": link, **describe_terms(page, link)})
    return page.redirect(message)


@settings_page("settings-shared", members_post=True)
def end_links(page: SettingsRequest) -> HttpResponse:
    """Asks, then revokes all links that the user sees."""
    now = datetime.now(UTC)
    links = visible_links(page)
    if not page.has_posted:
        count = live_links(now).filter(pk__in=links.values("pk")).count()
        return page.render("shared_links_end", count=count)
    ended = revoke_links(links, now)
    page.log_change("shared links revoked:", ended)
    return page.redirect(f"{ended} link{'' if ended == 1 else 's'} revoked.")


def describe_terms(page: SettingsRequest, link: SharedLink) -> dict[str, object]:
    """Returns what the pop-over says of a link: how long it is valid, and what can be chosen instead."""
    left = (link.expires_at - datetime.now(UTC)).total_seconds()
    return {"project": page.project, "days": max(1, round(left / 86_400)), "choices": list_expiry_days()}


def is_script(request: HttpRequest) -> bool:
    """Returns whether a page's script asks, which puts the answer into the page."""
    return "HX-Request" in request.headers
