"""Source maps: what is uploaded by release, how far its labels are, an upload by hand, and the end of a release's."""

import shlex
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.core.exceptions import TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from aggregate.sourcemaps.archives import ArchiveError, BuildFile, open_archive
from aggregate.sourcemaps.deleting import delete_release
from aggregate.sourcemaps.listing import ListedScript, select_script_releases, select_scripts
from aggregate.sourcemaps.uploading import UploadError, UploadReport, store_build
from dashboard.access import get_visible_project, may_administer
from dashboard.importing import FORM_BYTES, sent_bytes
from dashboard.settings.forms import SettingsForm, read_lines
from dashboard.settings.frame import Desk, settings_page
from dashboard.sourcemaps import MAX_LISTED, OthersUpload, upload_turn
from dashboard.views import private_part
from ingest.models import Project

MAX_RELEASES: Final = 100
ARCHIVE_ENDINGS: Final = (".tar", ".tar.gz", ".tgz")


class ManyFiles(forms.FileInput):
    allow_multiple_selected = True


class ManyFilesField(forms.FileField):
    """Several files; each is checked as one is."""

    def clean(self, data: Any, initial: Any = None) -> Any:  # Any: as in Django's stubs
        if not data:
            return super().clean(None, initial)
        return [super(ManyFilesField, self).clean(each, initial) for each in data]


class UploadForm(SettingsForm):
    release = forms.CharField(
        max_length=200,
        help_text="As the snippet sends it in data-release.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "1.4.0"}),
    )
    url_prefix = forms.CharField(
        label="Where the files are served",
        max_length=20_000,
        help_text="The address of the folder. One a line, where several hosts serve the same files.",
        widget=forms.Textarea(
            attrs={"rows": 2, "spellcheck": "false", "placeholder": "https://shop.example/assets/"},
        ),
    )
    build = ManyFilesField(
        allow_empty_file=True,
        label="Scripts and their maps",
        help_text="Some .js and .js.map files of one folder, or a whole build as one .tar or .tar.gz.",
        widget=ManyFiles(attrs={"accept": ".js,.mjs,.cjs,.map,.tar,.gz,.tgz"}),
    )


# The check of the form's token reads the whole body, which only an admin may send: it comes after that is known.
@csrf_exempt
@settings_page("settings-sourcemaps")
def show_source_maps(desk: Desk) -> HttpResponse:
    if not desk.has_posted:
        return show(desk, UploadForm())
    if sent_bytes(desk.request) > settings.SOURCE_MAP_MAX_UPLOAD_BYTES + FORM_BYTES:
        limit = settings.SOURCE_MAP_MAX_UPLOAD_BYTES / 2**20
        return show(desk, UploadForm(), status=413, problem=f"These files have more than {limit:.0f} MiB together.")
    try:
        _ = desk.request.FILES
    except TooManyFilesSent:
        most = settings.DATA_UPLOAD_MAX_NUMBER_FILES
        return show(desk, UploadForm(), status=400, problem=f"At most {most} files at once; more fit into a tar.")
    return take_upload(desk.request, desk)


@csrf_protect
def take_upload(request: HttpRequest, desk: Desk) -> HttpResponse:
    """Stores what came, and tells what became of it. The same upload again changes nothing: reloading is harmless."""
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return show(desk, form, status=400)
    try:
        with upload_turn():
            report = store_upload(desk.project, form)
    except OthersUpload as error:
        return show(desk, form, status=503, problem=f"{error} Try again in a moment.")
    except UploadError as error:
        form.add_error(error.field if error.field in form.fields else "build", error.detail.capitalize())
        return show(desk, form, status=400)
    except ArchiveError as error:
        form.add_error("build", str(error))
        return show(desk, form, status=400)
    desk.tell("source maps uploaded:", len(report.scripts), "scripts")
    status = 422 if report.rejected else 200
    return show(desk, UploadForm(), status=status, report=report, release=form.cleaned_data["release"])


def store_upload(project: Project, form: UploadForm) -> UploadReport:
    """Stores the files of a form: an archive, or some of one folder. Raises as `store_build` and `open_archive` do."""
    release, prefixes = form.cleaned_data["release"], read_lines(form.cleaned_data["url_prefix"])
    files: list[UploadedFile[Any]] = form.cleaned_data["build"]  # Any: as in Django's stubs
    first = files[0].file
    if len(files) == 1 and first is not None and (files[0].name or "").endswith(ARCHIVE_ENDINGS):
        with open_archive(first) as members:
            return store_build(project.pk, release=release, url_prefixes=prefixes, files=members)
    build = [BuildFile(file.name or "file", file.size or 0, file.read) for file in files]
    return store_build(project.pk, release=release, url_prefixes=prefixes, files=build)


def show(desk: Desk, form: UploadForm, *, status: int = 200, **context: object) -> HttpResponse:
    """Renders the page: what is there, what came of an upload, the form, and the command that does the same."""
    shared = list_releases(desk.project, may_change=desk.may_change)
    limit = {"limit_bytes": settings.SOURCE_MAP_MAX_UPLOAD_BYTES, "max_files": settings.DATA_UPLOAD_MAX_NUMBER_FILES}
    return desk.show("source_maps", status=status, form=form, command=write_command(desk), **(shared | limit | context))


def list_releases(project: Project, *, may_change: bool) -> dict[str, object]:
    """Returns what the list of releases shows."""
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
    """The list alone, which asks again by itself while labels are made."""
    project = get_visible_project(request.user, slug)
    context = list_releases(project, may_change=may_administer(request.user, project)) | {"project": project}
    return render(request, "dashboard/settings/_source_map_releases.html", context)


def write_command(desk: Desk) -> str:
    """Returns the shell command that uploads a build folder, for CI."""
    address = desk.request.build_absolute_uri(reverse("api-sourcemaps", args=[desk.project.slug]))
    query = "release=1.4.0&url_prefix=https://shop.example/"
    return (
        'tar -czf - -C dist . | curl --fail-with-body -H "Authorization: Bearer $TOKEN" --data-binary @- '
        + shlex.quote(f"{address}?{query}")
    )


@settings_page("settings-sourcemaps")
def show_release(desk: Desk) -> HttpResponse:
    release, scripts, total = find_release(desk)
    return desk.show("source_map_release", release=release, scripts=scripts, total=total, query=release_query(release))


@settings_page("settings-sourcemaps", for_admins=True)
def end_release(desk: Desk) -> HttpResponse:
    release, scripts, total = find_release(desk)
    if desk.has_posted:
        deleted = delete_release(desk.project.pk, release)
        desk.tell("source maps deleted:", deleted, "scripts")
        return desk.leave(f"The source maps of {release} are deleted: {deleted} script{'' if deleted == 1 else 's'}.")
    return desk.show(
        "source_map_end",
        release=release,
        total=total,
        mapped=sum(script.mapped for script in scripts),
        shared=sum(script.is_shared for script in scripts),
        is_cut=total > len(scripts),
        query=release_query(release),
    )


def find_release(desk: Desk) -> tuple[str, list[ListedScript], int]:
    """Returns the release in the address with its scripts, and how many there are. Raises `Http404` where none are."""
    release = desk.request.GET.get("release", "")
    scripts, total = select_scripts(desk.project.pk, release=release.replace("\0", ""), limit=MAX_LISTED)
    if not scripts:
        raise Http404("No source maps are uploaded for this release.")
    return release, scripts, total


def release_query(release: str) -> str:
    return urlencode({"release": release})
