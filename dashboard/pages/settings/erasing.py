"""The settings page "Erase data": a job erases all views that carry a tag, such as a visitor's pseudonym."""

import gzip
import json
from datetime import UTC, datetime

from django import forms
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from aggregate.jobs.requests import ERASE_TAG_KIND, TooManyJobs, has_result, iter_result, select_job
from aggregate.maintenance.tag_erasures import start_tag_erasure
from aggregate.models import Job
from dashboard.layout.forms import SettingsForm
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from dashboard.web.params import read_uuid

PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}


class EraseTagForm(SettingsForm):
    """Asks for a tag and a word: data is not erased by a slip."""

    name = forms.CharField(label="Tag", max_length=200, initial="visitor", widget=forms.TextInput(attrs=PLAIN))
    value = forms.CharField(label="Value", max_length=200, widget=forms.TextInput(attrs=PLAIN))
    confirm = forms.CharField(label="Type erase to confirm", max_length=20, widget=forms.TextInput(attrs=PLAIN))

    def clean_confirm(self) -> str:
        word: str = self.cleaned_data["confirm"]
        if word != "erase":
            raise forms.ValidationError("Type the word erase.")
        return word


@settings_page("settings-erase", for_admins=True)
def show_erase(page: SettingsRequest) -> HttpResponse:
    """Asks for a tag, starts the job, and shows its progress. No address has the value: it is a person's."""
    if (job_id := page.request.GET.get("job")) is not None:
        return show_progress(page, job_id)
    form = EraseTagForm(page.request.POST if page.has_posted else None)
    if form.is_bound and form.is_valid():
        try:
            job = start_tag_erasure(page.project.pk, form.cleaned_data["name"], form.cleaned_data["value"])
        except TooManyJobs as error:
            form.add_error(None, str(error))
            return page.render("erase", status=429, form=form)
        page.log_change("erasure by tag started:", job.id)
        address = reverse("settings-erase", args=[page.project.slug])
        return HttpResponseRedirect(f"{address}?job={job.id}")
    return page.render("erase", status=400 if form.is_bound else 200, form=form)


def show_progress(page: SettingsRequest, job_id: str) -> HttpResponse:
    """Shows the state of a job, and its outcome when it is done."""
    job = select_job(page.project.pk, read_uuid(job_id))
    if job is None or job.kind != ERASE_TAG_KIND:
        raise Http404("There is no such erasure.")
    outcome = None
    if has_result(job, datetime.now(UTC)):
        outcome = json.loads(gzip.decompress(b"".join(iter_result(job))))
    has_failed = job.state in (Job.State.FAILED, Job.State.CANCELLED)
    return page.render("erase", job=job, outcome=outcome, has_failed=has_failed)
