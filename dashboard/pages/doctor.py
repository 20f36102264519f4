"""The page "Page doctor": a member names a live page, and the server looks at it and says what to mend."""

import threading
from contextlib import ExitStack
from typing import Final

from django import forms
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from aggregate.doctor.addresses import MAX_URL_CHARS
from aggregate.doctor.examining import examine
from dashboard.layout.forms import SettingsForm
from dashboard.layout.shell import Shell, build_tabs
from dashboard.web.access import get_visible_project
from dashboard.web.decorators import project_page
from dashboard.web.own_address import server_url
from projects.models import Project

HOUR_S: Final = 3_600
# Visits of this process. Each holds a web thread and has a process of its own.
_places = threading.Semaphore(settings.DOCTOR_AT_ONCE)


class DoctorForm(SettingsForm):
    url = forms.CharField(
        label="Address of a live page",
        max_length=MAX_URL_CHARS,
        widget=forms.TextInput(
            attrs={
                "autocomplete": "off",
                "spellcheck": "false",
                "inputmode": "url",
                "placeholder": "https://shop.example/cart",
            }
        ),
        help_text="This server requests the page and its scripts, as a browser without a login does.",
    )


@project_page(kind="form", name="doctor", path="doctor/")
def show_doctor(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    form = DoctorForm(request.POST if request.method == "POST" else None)
    if not form.is_bound or not form.is_valid():
        form.make_ready(may_change=True)
        return show(request, project, status=400 if form.is_bound else 200, form=form)
    with ExitStack() as stack:
        if not _places.acquire(blocking=False):
            return show(
                request, project, status=503, form=form, refusal="Other visits are running. Try again in a moment."
            )
        stack.callback(_places.release)
        if not may_visit_now(request):
            refusal = f"You have started {settings.DOCTOR_PER_HOUR} visits within an hour. Try again later."
            return show(request, project, status=429, form=form, refusal=refusal)
        server = server_url(request)
        report = examine(form.cleaned_data["url"], project=project, server=server)
    return show(request, project, form=form, report=report)


def may_visit_now(request: HttpRequest) -> bool:
    """Counts a visit of a user in this process, and tells whether it is within the limit of an hour."""
    key = f"doctor:{request.user.pk}"
    cache.add(key, 0, HOUR_S)
    try:
        return cache.incr(key) <= settings.DOCTOR_PER_HOUR
    except ValueError:  # it expired just now
        return True


def show(request: HttpRequest, project: Project, *, status: int = 200, **context: object) -> HttpResponse:
    """Renders the page."""
    shared = {"project": project, "shell": Shell(build_tabs(project, here="quality"), None)}
    return render(request, "dashboard/doctor/page.html", shared | context, status=status)
