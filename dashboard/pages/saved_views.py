"""Saved views: the list, which works without JavaScript, and what members do with them."""

from dataclasses import dataclass
from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from dashboard.layout.forms import SettingsForm
from dashboard.layout.saved_links import link_saved_view, read_saved_address
from dashboard.layout.shell import Shell, build_tabs
from dashboard.web.access import get_visible_project, may_administer
from dashboard.web.decorators import project_page
from dashboard.web.params import ParamError
from projects.models import Project, SavedView
from projects.saved_views import change_view, list_views, save_view

NAME_CHARS = SavedView._meta.get_field("name").max_length


class SavedForm(SettingsForm):
    name = forms.CharField(max_length=NAME_CHARS, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    is_shared = forms.BooleanField(label="Visible to all members", required=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedView:
    """A saved view, its address, and whether the reader may change it: their own, and shared ones if they are admin."""

    view: SavedView
    link: str
    is_own: bool
    may_change: bool


@project_page(kind="form", name="saved-views", path="saved/")
def show_saved_views(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    form = SavedForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            address = read_saved_address(project, request.POST.get("address", ""))
            saved = save_view(project=project, user=_user_of(request), address=address, **form.cleaned_data)
        except ValidationError as error:
            form.add_service_errors(error)
        except ParamError as error:
            form.add_error(None, error.detail)
        else:
            messages.success(request, f"View “{saved.name}” saved.")
            return HttpResponseRedirect(link_saved_view(project, saved))
    form.make_ready(may_change=True)
    context = {
        "project": project,
        "shell": Shell(build_tabs(project), None),
        "rows": _list_rows(request, project),
        "form": form,
        "address": request.POST.get("address") or request.GET.get("address", ""),
    }
    return render(request, "dashboard/saved/page.html", context, status=400 if form.is_bound else 200)


@project_page(kind="part", name="saved-views-list", path="saved/list/")
def show_saved_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    context = {"project": project, "rows": _list_rows(request, project)}
    return render(request, "dashboard/saved/_list.html", context)


@project_page(kind="form", name="saved-view", path="saved/<int:saved_id>/")
def change_saved_view(request: HttpRequest, slug: str, saved_id: int) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    row = next((row for row in _list_rows(request, project) if row.view.pk == saved_id and row.may_change), None)
    if row is None:
        raise Http404("There is no such saved view.")
    back = HttpResponseRedirect(reverse("saved-views", args=[project.slug]))
    form = SavedForm(request.POST)
    if request.method != "POST":
        return back
    if "delete" in request.POST:
        row.view.delete()
        messages.success(request, f"View “{row.view.name}” deleted.")
        return back
    try:
        if not form.is_valid():
            raise ValidationError(form.errors.as_data())
        change_view(row.view, **form.cleaned_data)
        messages.success(request, "View changed.")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return back


def _user_of(request: HttpRequest) -> User:
    return cast("User", request.user)  # `login_required` has seen to it


def _list_rows(request: HttpRequest, project: Project) -> list[ListedView]:
    """Returns what the reader sees, their own views first."""
    user = _user_of(request)
    views = list(list_views(project, user.pk))
    is_admin = any(view.user_id != user.pk for view in views) and may_administer(user, project)
    rows = [
        ListedView(
            view=view,
            link=link_saved_view(project, view),
            is_own=view.user_id == user.pk,
            may_change=view.user_id == user.pk or is_admin,
        )
        for view in views
    ]
    return sorted(rows, key=lambda row: not row.is_own)
