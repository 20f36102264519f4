"""A debug id that a trace gave a script finds the map that has it, without any address; and no lie goes further."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from django.db import connection, transaction
from django.db.models import F

from aggregate.label_models import Artifact, ReleaseScript
from aggregate.sourcemaps.debug_ids import BATCH, FOUND, PLACED, place_scripts
from aggregate.sourcemaps.deleting import delete_release, expire_source_maps
from aggregate.sourcemaps.labelling import label_all
from aggregate.sourcemaps.uploading import UploadError, store_build
from ingest.script_models import ScriptDebugId
from ingest.storage.script_ids import INSERT
from ingest.storage.store_pool import execute_in_transaction
from profcore.symbolicate.builds import Match
from profcore.symbolicate.paths import ANYWHERE
from projects.models import Project
from tests.aggregate.sourcemaps.shop import (
    ARROW,
    BUNDLE,
    DOUBLE,
    SOURCE,
    URI,
    files_of,
    intern,
    picture,
    write_shop_map,
)
from tests.builders import make_cell, make_project

pytestmark = pytest.mark.django_db

ID = "f997c982-fb7b-472d-9f0a-84d5c8ad7d7c"
OTHER = "2b84db30-a700-458f-b715-a93e2b7c951b"


def names(*releases: str, line: int = 1) -> str:
    """Draws the labels of the shop's two functions in some releases."""
    return "\n".join(
        f"{release} 11 double src/list.js:{line}:23\n{release} 28 (anonymous) src/list.js:{line + 1}:19"
        for release in releases
    )


@pytest.fixture
def shop() -> Project:
    return make_project("shop")


def upload_anywhere(project: Project, release: str = "1", debug_id: str = ID, *, line: int = 0, prefix: str = ANYWHERE):  # type: ignore[no-untyped-def]  # the report
    bundle = BUNDLE + f"//# debugId={debug_id}\n".encode()
    source_map = write_shop_map("\n" * line + SOURCE, line=line, debugId=debug_id)
    files = files_of({f"{debug_id}.js": bundle, f"{debug_id}.js.map": source_map})
    return store_build(project.pk, release=release, url_prefixes=[prefix], files=files)


def see(project: Project, release: str = "1", debug_id: str = ID, uri: str = URI) -> None:
    """Stores that a trace gave a script this id."""
    execute_in_transaction(INSERT, [str(project.pk), release, msgspec.json.encode({uri: debug_id}).decode()])
    ScriptDebugId.objects.filter(project=project).update(seen_at=F("seen_at") - timedelta(seconds=1))


def uris(project: Project) -> list[tuple[str, str]]:
    return list(ReleaseScript.objects.filter(project=project).order_by("release", "uri").values_list("release", "uri"))


@pytest.mark.parametrize("is_upload_first", [True, False])
def test_labels_come_whatever_was_first(shop: Project, is_upload_first: bool) -> None:
    intern(shop.pk, DOUBLE, ARROW)
    for step in (upload_anywhere, see) if is_upload_first else (see, upload_anywhere):
        step(shop)
        label_all()
    assert picture(shop.pk) == names("1")
    assert uris(shop) == [("1", URI)]
    # Funcs of later traces too, and another upload of the same changes nothing.
    upload_anywhere(shop)
    assert place_scripts(shop.pk) == 0
    assert uris(shop) == [("1", URI)]
    assert Artifact.objects.count() == 2


def test_an_upload_for_another_release_or_address_is_found(shop: Project) -> None:
    intern(shop.pk, DOUBLE, ARROW)
    upload_anywhere(shop, "(unknown)")
    upload_anywhere(shop, "wrong", prefix="https://wrong.example/")
    see(shop, "1")
    see(shop, "2")
    label_all()
    assert picture(shop.pk) == names("1", "2")
    assert uris(shop) == [
        ("(unknown)", f"~/{ID}.js"), ("1", URI), ("2", URI), ("wrong", f"https://wrong.example/{ID}.js"),
    ]  # fmt: skip


def test_an_upload_that_names_the_address_keeps_it(shop: Project) -> None:
    intern(shop.pk, DOUBLE, ARROW)
    upload_anywhere(shop, debug_id=OTHER)
    for prefix in ("https://shop.example/", "https://*.example/"):
        ReleaseScript.objects.exclude(uri__startswith="~").delete()
        files = files_of({"assets/main.js": BUNDLE, "assets/main.js.map": write_shop_map()})
        store_build(shop.pk, release="1", url_prefixes=[prefix], files=files)
        see(shop, debug_id=OTHER)
        assert place_scripts(shop.pk) == 0


def test_of_several_ids_the_first_that_has_a_map_counts_and_stays(shop: Project) -> None:
    intern(shop.pk, DOUBLE, ARROW)
    see(shop, debug_id="00000000-0000-4000-8000-000000000000")  # a stranger's
    see(shop, debug_id=ID)
    see(shop, debug_id=OTHER)
    upload_anywhere(shop, debug_id=OTHER, line=7)
    upload_anywhere(shop, debug_id=ID)
    label_all()
    assert picture(shop.pk) == names("1")
    # A second build with the same addresses in the same release: the first one's names stay.
    see(shop, debug_id=OTHER)
    label_all()
    assert picture(shop.pk) == names("1")


def test_more_scripts_than_a_transaction_takes_are_placed(shop: Project) -> None:
    upload_anywhere(shop)
    uris_of = {f"https://shop.example/{number}.js": ID for number in range(BATCH + 1)}
    execute_in_transaction(INSERT, [str(shop.pk), "1", msgspec.json.encode(uris_of).decode()])
    label_all()
    assert ReleaseScript.objects.count() == BATCH + 1
    params = {"project": shop.pk, "limit": BATCH}
    assert max(most_rows(statement, params) for statement in (FOUND, PLACED)) < 10 * BATCH


def most_rows(statement: str, params: dict[str, int]) -> float:
    """Returns the rows that the largest step of a statement gave or compared."""
    with transaction.atomic(), connection.cursor() as cursor:
        # As a planner does that takes tables for small: each row of a join is compared with each.
        for way in ("hashjoin", "mergejoin", "indexscan", "indexonlyscan", "bitmapscan"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", params)
        ((plans,),) = cursor.fetchall()
    waiting, most = [plans[0]["Plan"]], 0.0
    while waiting:
        step = waiting.pop()
        waiting += step.get("Plans", [])
        rows = step["Actual Rows"] + step.get("Rows Removed by Join Filter", 0)
        most = max(most, rows * step["Actual Loops"])
    return most


def test_a_lie_labels_its_own_address_only(shop: Project) -> None:
    intern(shop.pk, DOUBLE, ARROW)
    upload_anywhere(shop)
    see(shop, uri="https://evil.example/x.js")
    label_all()
    assert picture(shop.pk) == ""
    see(shop)
    label_all()
    assert picture(shop.pk) == names("1")


def test_a_lie_labels_its_own_release_only_whatever_its_address(shop: Project) -> None:
    hashed = URI.replace("main", "main-3f2a1b9c")
    upload_anywhere(shop)
    see(shop, "evil", uri=hashed)
    label_all()
    assert not ReleaseScript.objects.get(release="evil").is_shared


def test_another_projects_maps_are_not_found(shop: Project) -> None:
    other = make_project("other")
    upload_anywhere(other)
    intern(shop.pk, DOUBLE, ARROW)
    see(shop)
    label_all()
    assert uris(shop) == []


def test_what_one_release_deletes_another_keeps(shop: Project) -> None:
    intern(shop.pk, DOUBLE, ARROW)
    upload_anywhere(shop, "1")
    see(shop, "1")
    see(shop, "2")
    label_all()
    assert delete_release(shop.pk, "1") == 1
    assert picture(shop.pk) == names("2")
    # The id of its traces is still known, and so is a map with it.
    label_all()
    assert picture(shop.pk) == names("1", "2")
    for release in ("1", "2"):
        delete_release(shop.pk, release)
    label_all()
    assert picture(shop.pk) == ""
    assert not Artifact.objects.exists()


def test_ids_stay_as_long_as_their_script_or_the_time_for_an_upload(shop: Project) -> None:
    intern(shop.pk, DOUBLE, ARROW)
    upload_anywhere(shop)
    see(shop)
    see(shop, "2", OTHER)
    label_all()
    at = datetime.now(UTC)

    def expire(days: int) -> list[str]:
        expire_source_maps(shop.pk, at + timedelta(days=days), keep_days=30, shared_days=30)
        return list(ScriptDebugId.objects.order_by("release").values_list("release", flat=True))

    cell = make_cell(shop, release="1")
    assert expire(29) == ["1", "2"]
    assert expire(31) == ["1"]
    assert ReleaseScript.objects.exists()
    cell.delete()
    assert expire(31) == []
    assert not ReleaseScript.objects.exists()


def test_scripts_without_an_id_need_an_address(shop: Project) -> None:
    files = files_of({"main.js": BUNDLE, "main.js.map": write_shop_map(), "worker.js": b"run()"})
    report = store_build(shop.pk, release="1", url_prefixes=[ANYWHERE], files=files)
    assert [(bad.file, bad.detail.partition(",")[0]) for bad in report.rejected] == [("main.js", "it has no debug id")]
    assert report.scripts == []
    both = store_build(shop.pk, release="1", url_prefixes=[ANYWHERE, "https://shop.example/"], files=files)
    assert [(script.urls, script.match) for script in both.scripts] == [
        (("https://shop.example/main.js",), Match.COMMENT), (("https://shop.example/worker.js",), Match.NO_MAP),
    ]  # fmt: skip
    with pytest.raises(UploadError, match="must be a URL"):
        store_build(shop.pk, release="1", url_prefixes=["~/x/"], files=files)
