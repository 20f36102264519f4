"""Uploads: what is stored, how maps find their bundles over several uploads, and what is refused with a place."""

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from pytest_django import Settings

from aggregate.label_models import Artifact, ReleaseScript
from aggregate.sourcemaps import uploading
from aggregate.sourcemaps.deleting import delete_release, expire_source_maps
from aggregate.sourcemaps.labelling import label_all
from aggregate.sourcemaps.moving import move_scripts
from aggregate.sourcemaps.uploading import BadFile, UploadError, UploadReport, store_build
from profcore.symbolicate.builds import BundleComments, Match, Pair, pair_files
from projects.models import Project
from tests.aggregate.sourcemaps.shop import BUNDLE, PREFIX, URI, files_of, intern, picture, upload, write_shop_map
from tests.builders import make_cell

pytestmark = pytest.mark.django_db

ID = "85314830-023f-4cf1-a267-535f4e37bb17"
BARE_BUNDLE = BUNDLE.partition(b"\n")[0] + b"\n"
BUNDLE_WITH_ID = BARE_BUNDLE + b"//# debugId=%s\n" % ID.encode()


@pytest.fixture
def project() -> Project:
    return Project.objects.create(slug="shop", name="Shop")


def matches(report: UploadReport) -> list[tuple[str, str]]:
    return [(script.file, script.match.value) for script in report.scripts]


def test_a_script_is_stored_with_its_map_and_url(project: Project) -> None:
    report = upload(project.pk)
    assert matches(report) == [("main.js", "sourceMappingURL")]
    assert (report.new_files, report.unmatched, report.rejected) == (2, 0, [])
    script = ReleaseScript.objects.get()
    assert (script.uri, script.release, script.file) == (URI, "1.0.0", "main.js")
    assert not script.is_shared


def test_each_host_has_its_own_scripts_and_content_is_kept_once(project: Project) -> None:
    hosts = [PREFIX, "https://cdn.example", PREFIX + "/"]
    store_build(
        project.pk,
        release="1.0.0",
        url_prefixes=hosts,
        files=files_of({"main.js": BUNDLE, "main.js.map": write_shop_map()}),
    )
    assert set(ReleaseScript.objects.values_list("uri", flat=True)) == {URI, "https://cdn.example/main.js"}
    assert Artifact.objects.count() == 2


def test_a_script_whose_name_has_a_hash_serves_all_releases(project: Project) -> None:
    upload(project.pk, files=files_of({"main-LYD7EPAI.js": BUNDLE, "main-LYD7EPAI.js.map": write_shop_map()}))
    assert ReleaseScript.objects.get().is_shared


@pytest.mark.parametrize(
    ("script", "named", "file"),
    [
        ("application-1f2e3d4c.js", "application.js-5cffb1d2.map", "application.js-5cffb1d2.map"),
        ("main.js", "main.map", "main.map"),
        ("main.js", "main.json?v=1", "main.json"),
        ("main.js", "main%20x.sourcemap", "main x.sourcemap"),
        ("js/ab.js", "/assets/maps/ab.js.map", "maps/ab.js.map"),
        ("js/ab.js", "/maps/ab.js.map", "maps/ab.js.map"),
        ("js/ab.js", "//shop.example/assets/maps/ab", "maps/ab"),
        ("js/ab.js", "https://cdn.example/js/ab.map", "js/ab.map"),
    ],
)
def test_the_comment_decides_which_file_is_the_map(project: Project, script: str, named: str, file: str) -> None:
    bundle = BARE_BUNDLE + b"//# sourceMappingURL=%s\n" % named.encode()
    report = upload(project.pk, files=files_of({file: write_shop_map(), script: bundle, "style.css.map": b"{"}))
    assert [(row.file, row.map, row.match, row.missing_map) for row in report.scripts] == [
        (script, file, Match.COMMENT, None)
    ]
    assert report.rejected == []


def test_a_named_file_that_is_no_map_is_rejected_and_not_missing(project: Project) -> None:
    bundle = BARE_BUNDLE + b"//# sourceMappingURL=main.txt\n"
    report = upload(project.pk, files=files_of({"main.txt": b"<html>", "main.js": bundle, "notes.txt": b"no map"}))
    assert [bad.file for bad in report.rejected] == ["main.txt"]
    assert [(row.file, row.map, row.missing_map) for row in report.scripts] == [("main.js", None, None)]


def test_a_named_file_that_was_not_uploaded_is_reported(project: Project) -> None:
    files = {
        "a.js": BARE_BUNDLE + b"//# sourceMappingURL=maps/a.js.map\n",
        "b.js": BARE_BUNDLE + b"//# sourceMappingURL=/elsewhere/b.map\n",
        "b.js.map": write_shop_map(),
        "c.js": BARE_BUNDLE,
    }
    report = upload(project.pk, files=files_of(files))
    assert [(row.file, row.map, row.missing_map) for row in report.scripts] == [
        ("a.js", None, "maps/a.js.map"),
        ("b.js", "b.js.map", "/elsewhere/b.map"),
        ("c.js", None, None),
    ]


def test_a_map_with_any_name_is_found_by_its_debug_id(project: Project) -> None:
    maps = {"one.map": write_shop_map(debugId=ID), "two.map": write_shop_map(), "three.map": b"{"}
    report = upload(project.pk, files=files_of({**maps, "main.js": BUNDLE_WITH_ID}))
    assert [(row.file, row.map, row.match) for row in report.scripts] == [("main.js", "one.map", Match.DEBUG_ID)]
    assert report.rejected == []


def test_litter_is_skipped_wherever_it_comes_from(project: Project) -> None:
    litter = {"._main.js": b"\0\5", "__MACOSX/._main.js.map": b"\0\5"}
    report = upload(project.pk, files=files_of({**litter, "main.js": BUNDLE, "main.js.map": write_shop_map()}))
    assert (matches(report), report.rejected) == ([("main.js", "sourceMappingURL")], [])
    with pytest.raises(UploadError, match="neither a script"):
        upload(project.pk, files=files_of(litter))


def test_an_inline_map_is_a_map(project: Project) -> None:
    url = b"data:application/json;base64," + base64.b64encode(write_shop_map())
    report = upload(project.pk, files=files_of({"main.js": BARE_BUNDLE + b"//# sourceMappingURL=" + url}))
    assert matches(report) == [("main.js", "inline")]
    intern(project.pk)
    label_all()
    assert "double src/list.js:1:23" in picture(project.pk)


def test_a_map_that_comes_before_its_bundle_is_found_by_debug_id(project: Project) -> None:
    early = upload(project.pk, "maps", files=files_of({"x/y.js.map": write_shop_map(debugId=ID)}))
    assert matches(early) == [("x/y.js", "map without bundle")]
    late = upload(project.pk, "1.0.0", files=files_of({"main.js": BUNDLE_WITH_ID}))
    assert matches(late) == [("main.js", "debug id")]
    intern(project.pk)
    assert label_all() == 3
    assert "1.0.0 11 double" in picture(project.pk)


def test_a_map_that_comes_after_its_bundle_is_found_by_debug_id(project: Project) -> None:
    intern(project.pk)
    assert matches(upload(project.pk, files=files_of({"main.js": BUNDLE_WITH_ID}))) == [("main.js", "no map")]
    assert label_all() == 0
    upload(project.pk, "maps", files=files_of({"x/y.js.map": write_shop_map(debug_id=ID)}))
    label_all()
    assert "1.0.0 11 double" in picture(project.pk)


def test_bundle_and_map_may_come_apart_under_one_name(project: Project) -> None:
    upload(project.pk, files=files_of({"main.js.map": write_shop_map()}))
    upload(project.pk, files=files_of({"main.js": BUNDLE}))
    script = ReleaseScript.objects.get()
    assert script.bundle_id is not None
    assert script.map_id is not None
    assert script.pending_at is not None


def test_another_bundle_without_a_map_has_no_map_and_no_labels(project: Project) -> None:
    intern(project.pk)
    upload(project.pk)
    label_all()
    upload(project.pk, files=files_of({"main.js": BARE_BUNDLE + b"// other\n"}))
    assert ReleaseScript.objects.get().map_id is None
    assert picture(project.pk) == ""


@pytest.mark.parametrize(
    ("files", "bad"),
    [
        ({"main.js.map": b"{"}, ("main.js.map", "$")),
        ({"main.js.map": write_shop_map(mappings="AAAA,A!")}, ("main.js.map", "$.mappings")),
        ({"main.js.map": b"\xff"}, ("main.js.map", "$")),
        ({"a/b.js": b"//# sourceMappingURL=data:application/json;base64,e30="}, ("a/b.js", "sourceMappingURL $")),
        ({"a/b.js": b"//# sourceMappingURL=data:application/json;base64,!"}, ("a/b.js", "sourceMappingURL")),
    ],
)
def test_a_bad_map_is_named_by_its_place_and_the_rest_is_stored(
    project: Project, files: dict[str, bytes], bad: tuple[str, str]
) -> None:
    report = upload(project.pk, files=files_of({"fine.js": BUNDLE, "fine.js.map": write_shop_map(), **files}))
    assert [(rejected.file, rejected.path.partition(".version")[0]) for rejected in report.rejected] == [bad]
    assert ("fine.js", "file name") in matches(report)


def test_a_bad_segment_is_named_by_line_and_number(project: Project) -> None:
    content = write_shop_map(mappings=";AAAA,AAAg")
    assert upload(project.pk, files=files_of({"a.js.map": content})).rejected == [
        BadFile("a.js.map", "$.mappings", "line 2, segment 2: its last number is cut off.")
    ]


def test_a_large_map_is_checked_in_a_process_of_its_own(
    project: Project, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SOURCE_MAP_CHECK_HERE_BYTES = 10
    report = upload(project.pk, files=files_of({"a.js.map": write_shop_map(), "b.js.map": b'{"version": 3, "x": 1}'}))
    assert [(bad.file, bad.path) for bad in report.rejected] == [("b.js.map", "$.mappings")]
    monkeypatch.setattr(uploading, "ISOLATED_MODULE", "tests.fault_injection.source_maps")
    report = upload(project.pk, files=files_of({"a.js.map": write_shop_map(file="poison")}))
    assert [(bad.path, "exit status -11" in bad.detail) for bad in report.rejected] == [("$", True)]


def test_a_file_that_is_too_large_is_left_out(project: Project, settings: Settings) -> None:
    settings.SOURCE_MAP_MAX_FILE_BYTES = len(BUNDLE)
    report = upload(project.pk)
    assert [(bad.file, bad.path) for bad in report.rejected] == [("main.js.map", "$")]
    assert matches(report) == [("main.js", "no map")]


@pytest.mark.parametrize(
    ("release", "prefixes", "files", "field"),
    [
        ("", [PREFIX], None, "release"),
        ("x" * 201, [PREFIX], None, "release"),
        ("1\0", [PREFIX], None, "release"),
        ("1", [], None, "url_prefix"),
        ("1", ["/assets"], None, "url_prefix"),
        ("1", [PREFIX], {"readme.md": b""}, "body"),
    ],
)
def test_what_cannot_be_taken_at_all_names_the_field(
    project: Project, release: str, prefixes: list[str], files: dict[str, bytes] | None, field: str
) -> None:
    with pytest.raises(UploadError) as caught:
        store_build(project.pk, release=release, url_prefixes=prefixes, files=files_of(files or {"main.js": BUNDLE}))
    assert caught.value.field == field
    assert not Artifact.objects.exists()


def test_a_project_that_keeps_too_much_takes_no_more(project: Project, settings: Settings) -> None:
    upload(project.pk)
    settings.SOURCE_MAPS_MAX_KEPT_BYTES = 100
    with pytest.raises(UploadError, match=r"take \d+ bytes"):
        upload(project.pk, "1.1.0")


def test_files_that_are_deleted_while_they_are_stored_are_stored_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(project.pk, "1.0.0")

    def delete_first(
        bundles: Mapping[str, BundleComments], maps: Mapping[str, UUID | None], url_prefixes: Sequence[str]
    ) -> Sequence[Pair]:
        delete_release(project.pk, "1.0.0")
        return pair_files(bundles, maps, url_prefixes)

    monkeypatch.setattr(uploading, "pair_files", delete_first)
    assert upload(project.pk, "1.1.0").new_files == 2
    assert set(ReleaseScript.objects.values_list("release", flat=True)) == {"1.1.0"}


def test_maps_of_releases_without_data_expire(project: Project) -> None:
    upload(project.pk, "1.0.0")
    upload(project.pk, "0.9.0")
    upload(project.pk, "0.9.0", files=files_of({"main-LYD7EPAI.js": BUNDLE, "main-LYD7EPAI.js.map": write_shop_map()}))
    make_cell(project)  # of release 1.0.0
    now = datetime.now(UTC)
    assert expire_source_maps(project.pk, now + timedelta(days=29), keep_days=30, shared_days=90) == 0
    assert expire_source_maps(project.pk, now + timedelta(days=31), keep_days=30, shared_days=90) == 1
    assert expire_source_maps(project.pk, now + timedelta(days=91), keep_days=30, shared_days=90) == 1
    assert set(ReleaseScript.objects.values_list("release", flat=True)) == {"1.0.0"}


def test_files_of_an_upload_that_broke_off_expire(project: Project) -> None:
    upload(project.pk)
    ReleaseScript.objects.all().delete()
    now = datetime.now(UTC)
    expire_source_maps(project.pk, now + timedelta(hours=1), keep_days=30, shared_days=30)
    assert Artifact.objects.count() == 2
    expire_source_maps(project.pk, now + timedelta(days=2), keep_days=30, shared_days=30)
    assert Artifact.objects.count() == 0


def test_matches_have_names_for_people() -> None:
    assert {match.value for match in Match} >= {"debug id", "inline", "sourceMappingURL", "file name", "no map"}


def test_two_files_of_one_name_do_not_move_to_one_address(project: Project) -> None:
    for at, line in (("https://a.example", 0), ("https://b.example", 5)):
        upload(project.pk, files=files_of({"main.js": BUNDLE, "main.js.map": write_shop_map(line=line)}), prefix=at)
    with pytest.raises(UploadError, match=r"two different files main\.js"):
        move_scripts(project.pk, "1.0.0", PREFIX)
    assert ReleaseScript.objects.count() == 2


def test_one_file_of_two_addresses_moves_to_one(project: Project) -> None:
    for at in ("https://a.example", "https://b.example"):
        upload(project.pk, prefix=at)
    assert move_scripts(project.pk, "1.0.0", PREFIX) == 1
    assert ReleaseScript.objects.get().uri == URI
