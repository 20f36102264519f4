"""The settings page "Source maps": uploads by release, the state of their labels, and deleting them."""

import shlex
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from aggregate.sourcemaps.archives import ArchiveError, BuildFile, open_archive
from aggregate.sourcemaps.coverage import select_coverage_in_time
from aggregate.sourcemaps.deleting import delete_release
from aggregate.sourcemaps.listing import ListedScript, select_script_releases, select_scripts
from aggregate.sourcemaps.moving import move_scripts
from aggregate.sourcemaps.uploading import UploadError, UploadReport, store_build
from dashboard.api.project.sourcemaps import MAX_LISTED, OthersUpload, upload_turn
from dashboard.layout.forms import SettingsForm, read_lines
from dashboard.pages.imports import FORM_BYTES
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from dashboard.web.access import get_visible_project, may_administer
from dashboard.web.decorators import private_part
from dashboard.web.uploads import sent_bytes, take_files
from projects.models import Project

MAX_RELEASES: Final = 100
ARCHIVE_ENDINGS: Final = (".tar", ".tar.gz", ".tgz")


class ManyFiles(forms.FileInput):
    allow_multiple_selected = True


class ManyFilesField(forms.FileField):
    """A field for several files, each checked separately."""

    def clean(self, data: Any, initial: Any = None) -> Any:  # Any: as in Django's stubs
        if not data:
            return super().clean(None, initial)
        return [super(ManyFilesField, self).clean(file, initial) for file in data]


class UploadForm(SettingsForm):
    release = forms.CharField(
        max_length=200,
        help_text="As the snippet sends it in data-release.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "1.4.0"}),
    )
    url_prefix = forms.CharField(
        label="Where the files are served",
        max_length=20_000,
        help_text="The address of the folder. One per line if several hosts serve the same files.",
        widget=forms.Textarea(
            attrs={"rows": 2, "spellcheck": "false", "placeholder": "https://shop.example/assets/"},
        ),
    )
    build = ManyFilesField(
        allow_empty_file=True,
        label="Scripts and their maps",
        help_text=".js and .js.map files of one folder, or a whole build as one .tar or .tar.gz.",
        widget=ManyFiles(attrs={"accept": ".js,.mjs,.cjs,.map,.tar,.gz,.tgz"}),
    )


# `take_upload` checks the CSRF token: that reads the whole body, which only an admin may send.
@csrf_exempt
@settings_page("settings-sourcemaps")
def show_source_maps(page: SettingsRequest) -> HttpResponse:
    if not page.has_posted:
        return show(page, UploadForm())
    if sent_bytes(page.request) > settings.SOURCE_MAP_MAX_UPLOAD_BYTES + FORM_BYTES:
        limit = settings.SOURCE_MAP_MAX_UPLOAD_BYTES / 2**20
        return show(page, UploadForm(), status=413, problem=f"These files are larger than {limit:.0f} MiB together.")
    take_files(page.request)
    try:
        _ = page.request.FILES
    except TooManyFilesSent:
        most = settings.DATA_UPLOAD_MAX_NUMBER_FILES
        return show(page, UploadForm(), status=400, problem=f"At most {most} files are accepted; put more into a tar.")
    return take_upload(page.request, page)


@csrf_protect
def take_upload(request: HttpRequest, page: SettingsRequest) -> HttpResponse:
    """Stores an upload and shows the result. The same upload again changes nothing, so reloading is harmless."""
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return show(page, form, status=400)
    try:
        with upload_turn():
            report = store_upload(page.project, form)
    except OthersUpload as error:
        return show(page, form, status=503, problem=f"{error} Try again in a moment.")
    except UploadError as error:
        form.add_error(error.field if error.field in form.fields else "build", error.detail.capitalize())
        return show(page, form, status=400)
    except ArchiveError as error:
        form.add_error("build", str(error))
        return show(page, form, status=400)
    page.log_change("source maps uploaded:", len(report.scripts), "scripts")
    release, prefixes = form.cleaned_data["release"], read_lines(form.cleaned_data["url_prefix"])
    return show(
        page,
        UploadForm(),
        status=422 if report.rejected else 200,
        report=report,
        release=release,
        query=release_query(release),
        coverage=select_coverage_in_time(page.project.pk, release, prefixes),
    )


def store_upload(project: Project, form: UploadForm) -> UploadReport:
    """Stores the files of a form: an archive, or files of one folder. Raises like `store_build` and `open_archive`."""
    release, prefixes = form.cleaned_data["release"], read_lines(form.cleaned_data["url_prefix"])
    files: list[UploadedFile[Any]] = form.cleaned_data["build"]  # Any: as in Django's stubs
    first = files[0].file
    if len(files) == 1 and first is not None and (files[0].name or "").endswith(ARCHIVE_ENDINGS):
        with open_archive(first) as members:
            return store_build(project.pk, release=release, url_prefixes=prefixes, files=members)
    build = [BuildFile(file.name or "file", file.size or 0, file.read) for file in files]
    return store_build(project.pk, release=release, url_prefixes=prefixes, files=build)


def show(page: SettingsRequest, form: UploadForm, *, status: int = 200, **context: object) -> HttpResponse:
    """Returns the page: the releases, the result of an upload, the form, and the command for CI."""
    shared = list_releases(page.project, may_change=page.may_change)
    limit = {"limit_bytes": settings.SOURCE_MAP_MAX_UPLOAD_BYTES, "max_files": settings.DATA_UPLOAD_MAX_NUMBER_FILES}
    return page.render(
        "source_maps", status=status, form=form, command=write_command(page), **(shared | limit | context)
    )


def list_releases(project: Project, *, may_change: bool) -> dict[str, object]:
    """Returns the context of the list of releases."""
    releases, total = select_script_releases(project.pk, limit=MAX_RELEASES)
    query = [urlencode({"release": row.release}) for row in releases]
    return {
        "rows": list(zip(releases, query, strict=True)),
        "total": total,
        "waiting": sum(row.waiting for row in releases),
        "may_change": may_change,
    }


@private_part
def show_state(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows only the list, which reloads itself while labels are pending."""
    project = get_visible_project(request.user, slug)
    context = list_releases(project, may_change=may_administer(request.user, project)) | {"project": project}
    return render(request, "dashboard/settings/_source_map_releases.html", context)


def write_command(page: SettingsRequest) -> str:
    """Returns the shell command that uploads a build folder, for CI."""
    address = page.request.build_absolute_uri(reverse("api-sourcemaps", args=[page.project.slug]))
    query = "release=1.4.0&url_prefix=https://shop.example/"
    return (
        'tar -czf - -C dist . | curl --fail-with-body -H "Authorization: Bearer $TOKEN" --data-binary @- '
        + shlex.quote(f"{address}?{query}")
    )


@settings_page("settings-sourcemaps")
def show_release(page: SettingsRequest) -> HttpResponse:
    release, scripts, total = find_release(page)
    return page.render(
        "source_map_release",
        release=release,
        scripts=scripts,
        total=total,
        query=release_query(release),
        coverage=select_coverage_in_time(page.project.pk, release),
    )


@settings_page("settings-sourcemaps", for_admins=True)
def move_release(page: SettingsRequest) -> HttpResponse:
    """Moves a release's scripts to the address that its traces name: one click on the page of the release."""
    release, _, _ = find_release(page)
    back = f"{reverse('settings-sourcemaps-release', args=[page.project.slug])}?{release_query(release)}"
    if not page.has_posted:
        return HttpResponseRedirect(back)
    try:
        moved = move_scripts(page.project.pk, release, page.request.POST.get("url_prefix", "").replace("\0", ""))
    except UploadError as error:
        return page.redirect(error.detail.capitalize(), to=back, level=messages.ERROR)
    page.log_change("source maps moved:", moved, "scripts")
    return page.redirect(f"{moved} script{'' if moved == 1 else 's'} moved to this address.", to=back)


@settings_page("settings-sourcemaps", for_admins=True)
def end_release(page: SettingsRequest) -> HttpResponse:
    release, scripts, total = find_release(page)
    if page.has_posted:
        deleted = delete_release(page.project.pk, release)
        page.log_change("source maps deleted:", deleted, "scripts")
        return page.redirect(
            f"The source maps of {release} are deleted: {deleted} script{'' if deleted == 1 else 's'}."
        )
    return page.render(
        "source_map_end",
        release=release,
        total=total,
        mapped=sum(script.mapped for script in scripts),
        shared=sum(script.is_shared for script in scripts),
        is_cut=total > len(scripts),
        query=release_query(release),
    )


def find_release(page: SettingsRequest) -> tuple[str, list[ListedScript], int]:
    """Returns the release in the address, its scripts and their count. Raises `Http404` if there are none."""
    release = page.request.GET.get("release", "").replace("\0", "")
    scripts, total = select_scripts(page.project.pk, release=release, limit=MAX_LISTED)
    if not scripts:
        raise Http404("No source maps are uploaded for this release.")
    return release, scripts, total


def release_query(release: str) -> str:
    return urlencode({"release": release})
