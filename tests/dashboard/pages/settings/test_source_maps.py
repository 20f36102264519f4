"""Source maps: uploaded by a form, listed by release with how far they are, deleted after a question."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from aggregate.label_models import Label, ReleaseScript
from aggregate.models import Func
from aggregate.sourcemaps.labelling import label_all
from dashboard.api.project.sourcemaps import UPLOADS_AT_ONCE, upload_turn
from ingest.storage.groups import allocate_ids
from profcore.trace.funcs import FuncKey
from projects.models import Project
from tests.aggregate.sourcemaps.shop import ARROW, BUNDLE, DOUBLE, PREFIX, URI, intern, write_shop_map
from tests.builders import make_cell, make_hotspot
from tests.dashboard.api.project.builds import WHOLE, tar_of
from tests.dashboard.pages.settings.conftest import SETTINGS, follow, read, text_in

STATE = SETTINGS + "source-maps/state/"


@pytest.fixture(autouse=True)
def _ids(shop: Project) -> None:
    allocate_ids(shop.pk, "func", 100)  # the shop's builders gave ids without it


def upload(client: Client, *files: tuple[str, bytes], release: str = "1.0.0", prefix: str = PREFIX) -> HttpResponse:
    build = [SimpleUploadedFile(name, content) for name, content in files]
    fields = {"release": release, "url_prefix": prefix, "build": build}
    return client.post(SETTINGS + "source-maps/", fields)  # type: ignore[return-value]  # the client's own response


@pytest.mark.parametrize(
    "files", [[("main.js", BUNDLE), ("main.js.map", write_shop_map())], [("build.tar.gz", WHOLE)]], ids=["files", "tar"]
)
def test_files_or_a_tar_are_uploaded_and_the_page_tells_what_came_of_it(
    owner: Client, shop: Project, files: list[tuple[str, bytes]]
) -> None:
    response = upload(owner, *files)
    assert response.status_code == 200
    assert "1 script of release 1.0.0 , 2 files new" in text_in(response)
    assert f"main.js {URI} main.js.map sourceMappingURL" in text_in(response)
    assert ReleaseScript.objects.get(project=shop).uri == URI
    assert ", 0 files new" in text_in(upload(owner, *files))


def record(shop: Project, *keys: FuncKey, release: str = "1.1.0") -> None:
    """Makes a cell of a release with functions, as a fold does."""
    cell = make_cell(shop, release=release, page="/list")
    for func in Func.objects.filter(project=shop, id__in=intern(shop.pk, *keys)):
        make_hotspot(cell, func, self_us=1_000, total_us=1_000)


def test_an_upload_counts_the_functions_that_get_names(owner: Client, shop: Project) -> None:
    files = (("main.js", BUNDLE), ("main.js.map", write_shop_map()))
    first = text_in(upload(owner, *files, release="1.1.0"))
    assert "1 map stored. No trace of release 1.1.0 was received yet." in first
    other = FuncKey(PREFIX + "/other.js", 1, 1, "x")
    record(shop, DOUBLE, ARROW, other)
    assert "2 of 3 functions of release 1.1.0 are in these files. A worker is naming them now." in text_in(
        upload(owner, *files, release="1.1.0")
    )
    label_all(shop.pk)
    assert "2 of 3 functions of release 1.1.0 now have source names." in text_in(upload(owner, *files, release="1.1.0"))
    assert "2 of 3 functions of release 1.1.0 now have source names." in read(
        owner, "source-maps/release/?release=1.1.0"
    )


def test_maps_of_an_address_without_traces_are_not_labelled(owner: Client, member: Client, shop: Project) -> None:
    record(shop, DOUBLE, ARROW)
    files = (("main.js", BUNDLE), ("main.js.map", write_shop_map()))
    response = upload(owner, *files, release="1.1.0", prefix="https://wrong.example/")
    page = text_in(response)
    assert "No trace of release 1.1.0 came from a script at https://wrong.example/ yet." in page
    assert f"Its traces came from {PREFIX}/. The uploaded files match there." in page
    label_all(shop.pk)
    assert "0 of 1 no trace from this address yet" in text_in(member.get(STATE))  # type: ignore[arg-type]  # the client's own
    assert "Use https://" not in text_in(member.get(SETTINGS + "source-maps/release/?release=1.1.0"))  # type: ignore[arg-type]
    assert f"Use {PREFIX}/" in page
    moved = follow(owner, "source-maps/address/?release=1.1.0", url_prefix=PREFIX + "/")
    assert "1 script moved to this address." in moved
    label_all(shop.pk)
    assert "2 of 2 functions of release 1.1.0 now have source names." in read(
        owner, "source-maps/release/?release=1.1.0"
    )
    assert list(ReleaseScript.objects.filter(project=shop).values_list("uri", flat=True)) == [URI]


def test_scripts_move_to_addresses_only(owner: Client, shop: Project) -> None:
    upload(owner, ("main.js", BUNDLE))
    wrong = follow(owner, "source-maps/address/?release=1.0.0", url_prefix="shop\0")
    assert "must be a url with scheme and host" in wrong
    assert ReleaseScript.objects.get(project=shop).uri == URI


def test_what_is_left_out_is_named_and_the_rest_is_stored(owner: Client, shop: Project) -> None:
    response = upload(owner, ("main.js", BUNDLE), ("main.js.map", write_shop_map()), ("bad.js.map", b"{"))
    assert response.status_code == 422, text_in(response)
    assert "bad.js.map was skipped" in text_in(response)
    assert ReleaseScript.objects.filter(project=shop).count() == 1


@pytest.mark.parametrize(
    ("release", "prefix", "name", "content", "field", "sentence"),
    [
        ("", PREFIX, "main.js", BUNDLE, "release", "This field is required."),
        ("1.0.0", "shop.example", "main.js", BUNDLE, "url_prefix", "must be a url with scheme and host"),
        ("1.0.0", PREFIX, "notes.txt", b"x", "build", "There is neither a script"),
        ("1.0.0", PREFIX, "build.tar", b"no tar", "build", "It is not a readable tar archive"),
        ("1.0.0", PREFIX, "out.tar.gz", tar_of(**{"../main__js": BUNDLE}), "build", "leads out of the archive"),
    ],
)
def test_a_wrong_field_is_named_next_to_it(
    owner: Client, shop: Project, release: str, prefix: str, name: str, content: bytes, field: str, sentence: str
) -> None:
    response = upload(owner, (name, content), release=release, prefix=prefix)
    assert response.status_code == 400
    page = response.content.decode()
    assert f'id="id_{field}_error"' in page
    assert sentence.lower() in text_in(response).lower()
    assert not ReleaseScript.objects.filter(project=shop).exists()


def test_uploads_that_are_too_large_or_too_many_are_refused_before_they_are_read(
    owner: Client, shop: Project, settings: Settings
) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 1
    many = upload(owner, ("a.js", BUNDLE), ("b.js", BUNDLE))
    assert (many.status_code, "At most 1 files are accepted; put more into a tar." in text_in(many)) == (400, True)
    settings.SOURCE_MAP_MAX_UPLOAD_BYTES = -(2**20)
    assert upload(owner, ("main.js", BUNDLE)).status_code == 413
    assert not ReleaseScript.objects.filter(project=shop).exists()


def test_an_upload_waits_for_its_turn(owner: Client, shop: Project) -> None:
    assert UPLOADS_AT_ONCE == 2
    with upload_turn(), upload_turn():
        response = upload(owner, ("main.js", BUNDLE))
    assert response.status_code == 503
    assert "Too many source map uploads at the moment. Try again in a moment." in text_in(response)
    assert upload(owner, ("main.js", BUNDLE)).status_code == 200


def test_a_form_from_elsewhere_is_refused_after_its_sender_is_known(owner: Client, shop: Project) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.cookies = owner.cookies
    assert upload(careful, ("main.js", BUNDLE)).status_code == 403
    assert not ReleaseScript.objects.filter(project=shop).exists()


def test_the_list_asks_again_by_itself_until_all_is_labelled(owner: Client, member: Client, shop: Project) -> None:
    upload(owner, ("main.js", BUNDLE), ("main.js.map", write_shop_map()))
    intern(shop.pk)
    waiting = member.get(STATE, headers={"HX-Request": "true"}).content.decode()
    assert 'hx-trigger="every 3s, again"' in waiting
    assert "1 script pending: a worker will label its functions." in text_in(member.get(STATE))  # type: ignore[arg-type]  # the client's own
    label_all(shop.pk)
    done = member.get(STATE, headers={"HX-Request": "true"}).content.decode()
    assert "hx-get" not in done
    assert re.search(r"1 of 1", done)
    assert "Delete" not in done


def test_a_release_shows_its_scripts_and_why_one_was_rejected(owner: Client, shop: Project) -> None:
    upload(owner, ("main.js", BUNDLE), ("main.js.map", write_shop_map()), ("alone.js", b"1"))
    intern(shop.pk)
    label_all(shop.pk)
    where = "source-maps/release/?release=1.0.0"
    text = read(owner, where)
    mapped = Label.objects.filter(project=shop, status=0).count()
    assert mapped
    assert f"labelled script comment or file name 1.0 KB {mapped} of {Label.objects.count()}" in re.sub(
        r"[0-9.]+ (KB|bytes) ", "1.0 KB ", text
    )
    assert "no map yet" in text
    ReleaseScript.objects.filter(uri=URI).update(failure="It took <i>too</i> long.")
    assert "Failed: It took <i>too</i> long." in read(owner, where)
    assert owner.get(SETTINGS + "source-maps/release/?release=9").status_code == 404
    assert owner.get(SETTINGS + "source-maps/release/?release=1.0.0%00").status_code == 200


def test_a_release_is_deleted_after_a_question_that_says_what_goes(owner: Client, shop: Project) -> None:
    for release in ("1.0.0", "2.0 & more"):
        upload(owner, ("main.js", BUNDLE), ("main.js.map", write_shop_map()), release=release)
    intern(shop.pk)
    label_all(shop.pk)
    where = "source-maps/delete/?release=2.0+%26+more"
    assert where.partition("?")[2] in owner.get(SETTINGS + "source-maps/").content.decode()
    mapped = Label.objects.filter(release="1.0.0", status=0).count()
    assert f"{mapped} function{'s' if mapped > 1 else ''} of release 2.0 & more lose" in read(owner, where)
    assert ReleaseScript.objects.count() == 2
    assert "The source maps of 2.0 & more are deleted: 1 script." in follow(owner, where)
    assert set(Label.objects.values_list("release", flat=True)) == {"1.0.0"}
    assert owner.post(SETTINGS + where).status_code == 404


def test_the_command_for_ci_has_the_projects_own_address(owner: Client) -> None:
    command = read(owner, "source-maps/").partition("tar -czf")[2]
    assert (
        "'http://testserver/api/v1/projects/shop/sourcemaps?release=1.4.0&url_prefix=https://shop.example/'" in command
    )
