"""The recorded apps: their builds uploaded as CI would, their funcs labelled, and every label against the reference."""

from collections import Counter

import pytest

from aggregate.fold.interning import intern_funcs
from aggregate.label_models import Label, ReleaseScript, Source
from aggregate.models import Func
from aggregate.sourcemaps.labelling import label_all
from aggregate.sourcemaps.uploading import store_build
from profcore.symbolicate.builds import Match
from profcore.trace.funcs import FuncKey
from projects.models import Project
from tests.aggregate.sourcemaps.shop import files_of
from tests.builds import build_files, manifest, needs_builds, symbols

APPS = ("shopboard", "graphlab", "docsite", "crunch")
RELEASES = ("1.0.0", "1.1.0")

Key = tuple[str, int, int, str]


def upload_app(project: Project, app: str, release: str) -> None:
    """Uploads an app's build as its hosts serve it, and the third party's tag with it."""
    for folder, prefix in ((f"{app}/{release}/", ""), ("rum/", "rum/")):
        files = {path.removeprefix(folder): body for path, body in build_files().items() if path.startswith(folder)}
        prefixes = [f"https://{app}.corpus.test/{prefix}"]
        report = store_build(project.pk, release=release, url_prefixes=prefixes, files=files_of(files))
        assert report.rejected == []
        assert {script.match for script in report.scripts} == {Match.COMMENT}


@needs_builds
@pytest.mark.slow(20)
@pytest.mark.django_db(transaction=True)
def test_every_recorded_func_is_labelled_as_the_reference_has_it() -> None:
    counts: Counter[str] = Counter()
    for app in APPS:
        project = Project.objects.create(slug=app, name=app)
        reference = {
            (s["uri"], s["line"], s["column"], s["name"]): s
            for s in symbols()
            if s["uri"] in manifest() and s["uri"].startswith(f"https://{app}.")
        }
        keys = [FuncKey(uri, line, column, name) for uri, line, column, name in reference]
        intern_funcs(project.pk, keys[::2])
        for release in RELEASES:
            upload_app(project, app, release)
        label_all()
        intern_funcs(project.pk, keys[1::2])
        label_all()
        assert not ReleaseScript.objects.exclude(failure=None, pending_at=None).exists()
        counts += compare(project, reference)
    assert counts["same"] > 1_800
    assert counts["wrapper"] == 8


def compare(project: Project, reference: dict[Key, dict[str, object]]) -> Counter[str]:
    """Compares a project's labels with the reference, each in the release whose build it is of."""
    funcs = {func.id: (func.uri, func.line, func.column, func.name) for func in Func.objects.filter(project=project)}
    paths = dict(Source.objects.filter(project=project).values_list("id", "path"))
    counts: Counter[str] = Counter()
    for label in Label.objects.filter(project=project):
        wanted = reference[funcs[label.func_id]]  # type: ignore[index]  # these have a URI and a position
        if wanted["status"] == "mapped":
            assert label.source_id is not None
            path = paths[label.source_id]
            assert path == wanted["sourcePath"] or path.endswith("/" + str(wanted["sourcePath"]))
            assert (label.line, label.column) == (wanted["origLine"], wanted["origColumn"])
        else:
            assert label.status == Label.Status.UNMAPPED
        is_named = wanted["status"] == "mapped" and wanted["functionName"] not in ("", "(anonymous)")
        if is_named and label.name != wanted["functionName"]:
            assert label.name is None  # wrappers of the bundler, which the reference names after what they wrap
        counts["same" if is_named and label.name is not None else "wrapper" if is_named else "other"] += 1
    assert set(Label.objects.filter(project=project).values_list("func_id", flat=True)) == set(funcs)
    return counts


@needs_builds
@pytest.mark.slow(20)
@pytest.mark.django_db(transaction=True)
def test_functions_keep_path_and_name_from_one_release_to_the_next() -> None:
    project = Project.objects.create(slug="shopboard", name="shopboard")
    mapped = [s for s in symbols() if s["status"] == "mapped" and s["uri"].startswith("https://shopboard.")]
    intern_funcs(project.pk, [FuncKey(s["uri"], s["line"], s["column"], s["name"]) for s in mapped])
    for release in RELEASES:
        upload_app(project, "shopboard", release)
    label_all()
    paths = dict(Source.objects.values_list("id", "path"))
    by_release: dict[str, set[tuple[str, str]]] = {release: set() for release in RELEASES}
    for label in Label.objects.exclude(name=None).exclude(source_id=None):
        by_release[label.release].add((paths[label.source_id or 0], label.name or ""))
    old, new = by_release["1.0.0"], by_release["1.1.0"]
    assert len(old & new) > 0.9 * min(len(old), len(new))
    assert ("src/components/ProductTable.tsx", "measureColumns") in old & new
