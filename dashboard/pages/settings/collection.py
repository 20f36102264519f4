"""The settings page "Collection": what the project's pages record, without a new release of the site."""

import re
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpResponse

from dashboard.layout.forms import SettingsForm
from dashboard.layout.snippet_tag import write_tag
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from dashboard.web.own_address import server_url
from profcore.trace.absence import LEAST_RATE as LEAST_ABSENT_RATE
from profcore.trace.collection import (
    LEAST_RATE,
    LEAST_WHOLE_RATE,
    MAX_DURATION_MS,
    MAX_PAGES,
    MAX_PATTERN_CHARS,
    MIN_DURATION_MS,
    find_pattern_problem,
)
from projects.collection import change_collection, plan_collection
from projects.models import Project

CACHE_MINUTES: Final = 5  # as ingest.snippet.views says to caches
PAGE_LINE: Final = re.compile(r"(?P<pattern>.+?)\s+(?P<percent>[0-9]+(?:\.[0-9]+)?)\s*%?")
NO_CORRECTION: Final = {"spellcheck": "false", "autocomplete": "off"}


class PercentField(forms.FloatField):
    """A percentage, which is cleaned to a share of 1; an empty one is None. `least` is the lowest share above 0."""

    def __init__(self, *, least: float, **kwargs: Any) -> None:  # Any: as in Django's stubs
        attrs = {"min": 0, "max": 100, "step": "any"}
        super().__init__(required=False, widget=forms.NumberInput(attrs=attrs), **kwargs)
        self.least = least

    def clean(self, value: object) -> float | None:
        percent: float | None = super().clean(value)
        if percent is None:
            return None
        share = to_share(percent)
        if not (share == 0 or self.least <= share <= 1):
            raise ValidationError(f"Enter a number from {100 * self.least:g} to 100, or 0 for never.")
        return share


class CollectionForm(SettingsForm):
    off = forms.BooleanField(label="Record nothing on any page", required=False)
    rate = PercentField(
        least=LEAST_RATE,
        label="Page views to record, in %",
        help_text=(
            "Which views is decided by chance. Figures still stand for all views. "
            "Empty: as the page’s tag says (data-rate)."
        ),
    )
    pages = forms.CharField(
        label="Other rates for some pages",
        required=False,
        max_length=MAX_PAGES * (MAX_PATTERN_CHARS + 20),
        widget=forms.Textarea(attrs={"rows": 4, "placeholder": "/checkout/* 100\n/product/:id 5", **NO_CORRECTION}),
        help_text=(
            "One per line: a page and its %. The first line that matches wins. * matches any text, :name one part "
            "between slashes. Lines are compared with data-page, or without it with the path of the address."
        ),
    )
    duration = forms.FloatField(
        label="Seconds of a page view to record",
        required=False,
        widget=forms.NumberInput(attrs={"min": MIN_DURATION_MS / 1000, "max": MAX_DURATION_MS / 1000, "step": "any"}),
        help_text="Empty: as the page’s tag says (data-duration).",
    )
    interactions = forms.BooleanField(label="After the load, record only around interactions", required=False)
    only_slow = forms.BooleanField(
        label="Of most page views, keep only slow moments",
        required=False,
        help_text=(
            "Interactions over 0.2 s, long frames over 0.2 s, an LCP over 2.5 s, and performance.mark('error'), "
            "with what ran before. The snippet gets 0.5 kB larger."
        ),
    )
    whole_rate = PercentField(
        least=LEAST_WHOLE_RATE,
        label="Recorded page views to keep whole all the same, in %",
        help_text="For means, releases and alerts, which are of whole views only. Empty: 10 %.",
    )
    experiment_rate = PercentField(
        least=LEAST_ABSENT_RATE,
        label="Page views that tell how soon the page was there, in %",
        help_text=(
            "TTFB, FCP, LCP and INP, of pages with the header and without, if your server gives it to a share of them "
            "(Server-Timing). Data quality compares both. Empty: none. The snippet gets 0.5 kB larger."
        ),
    )
    absent_rate = PercentField(
        least=LEAST_ABSENT_RATE,
        label="Page views that report why they recorded nothing, in %",
        help_text="Empty: 1 %, and all until the first trace is received. 0: none.",
    )

    def clean_pages(self) -> list[list[object]]:
        """Returns pairs of a pattern and a share. Raises `ValidationError` with a sentence for each wrong line."""
        wrong, pairs = [], []
        for number, line in enumerate(self.cleaned_data["pages"].splitlines(), start=1):
            if not line.strip():
                continue
            match = PAGE_LINE.fullmatch(line.strip())
            if match is None:
                wrong.append(f"Line {number}: write a page, a space and a percentage, such as /checkout/* 100.")
                continue
            share = to_share(float(match["percent"]))
            if problem := find_pattern_problem(match["pattern"]):
                wrong.append(f"Line {number}: {problem[0].lower()}{problem[1:]}")
            elif not (share == 0 or LEAST_RATE <= share <= 1):
                wrong.append(f"Line {number}: the percentage must be from {100 * LEAST_RATE:g} to 100, or 0 for never.")
            pairs.append([match["pattern"], share])
        if wrong:
            raise ValidationError(wrong[:MAX_PAGES])
        return pairs

    def clean_duration(self) -> int | None:
        """Returns milliseconds."""
        seconds: float | None = self.cleaned_data["duration"]
        if seconds is None:
            return None
        if not MIN_DURATION_MS <= 1000 * seconds <= MAX_DURATION_MS:
            raise ValidationError(f"Enter a number from {MIN_DURATION_MS / 1000:g} to {MAX_DURATION_MS / 1000:g}.")
        return round(1000 * seconds)

    def read_changes(self) -> dict[str, Any]:  # Any: JSON
        """Returns the fields of a valid form as the service has them."""
        changes = {name: value for name, value in self.cleaned_data.items() if name != "duration"}
        return changes | {"duration_ms": self.cleaned_data["duration"]}


@settings_page("settings-collection")
def show_collection(page: SettingsRequest) -> HttpResponse:
    form = CollectionForm(page.request.POST if page.has_posted else None, initial=describe_collection(page.project))
    if form.is_bound and form.is_valid():
        try:
            collection = plan_collection(page.project, form.read_changes())
        except ValidationError as error:
            form.add_service_errors(error)
        else:
            change_collection(page.project, collection)
            page.log_change("collection changed:", *form.changed_data)
            return page.redirect(f"The settings are saved. They reach pages within {CACHE_MINUTES} minutes.")
    key = page.project.keys.filter(revoked_at=None).order_by("pk").first()
    base_url = server_url(page.request)
    return page.render(
        "collection",
        status=400 if form.is_bound else 200,
        form=form,
        is_off=page.project.collection_off,
        minutes=CACHE_MINUTES,
        tag=write_tag(base_url, key.public_key) if key else None,
    )


def describe_collection(project: Project) -> dict[str, object]:
    """Returns the form's fields as texts of the stored settings."""
    stored = project.collection
    return {
        "off": stored.off,
        "rate": to_percent(stored.rate),
        "pages": "\n".join(f"{pattern} {to_percent(rate)}" for pattern, rate in stored.pages),
        "duration": None if stored.duration_ms is None else f"{stored.duration_ms / 1000:g}",
        "interactions": stored.interactions,
        "absent_rate": to_percent(stored.absent_rate),
        "only_slow": stored.only_slow,
        "whole_rate": to_percent(stored.whole_rate),
        "experiment_rate": to_percent(stored.experiment_rate),
    }


def to_share(percent: float) -> float:
    """Returns a share of 1: 7 % are 0.07, not 0.07000000000000001."""
    return float(f"{percent / 100:.10g}")


def to_percent(share: float | None) -> str | None:
    """Returns a percentage as a person writes it."""
    return None if share is None else f"{100 * share:.10g}"
