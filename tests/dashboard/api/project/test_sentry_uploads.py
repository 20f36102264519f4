"""What Sentry's tools call: bundles in parts become uploads, and hostile ones become sentences."""

import gzip
import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import F
from django.test import Client
from pytest_django import Settings

from aggregate.label_models import Artifact, ReleaseScript, UploadChunk
from aggregate.sourcemaps import artifact_bundles, chunks
from aggregate.sourcemaps.deleting import expire_source_maps
from dashboard.api.project import sentry_uploads
from dashboard.api.project.sourcemaps import UPLOADS_AT_ONCE, upload_turn
from ingest.storage.groups import allocate_ids
from projects.models import AnnouncedRelease, Project
from projects.tokens import create_token
from tests.aggregate.sourcemaps.shop import BUNDLE, PREFIX, URI, write_shop_map
from tests.builders import make_project
from tests.dashboard.conftest import People

CHUNKS = "/api/0/organizations/any/chunk-upload/"
ASSEMBLE = "/api/0/organizations/any/artifactbundle/assemble/"
DEBUG_ID = "f997c982-fb7b-472d-9f0a-84d5c8ad7d7c"
SCRIPT = BUNDLE + f"//# debugId={DEBUG_ID}\n".encode()
MAP = write_shop_map(debug_id=DEBUG_ID)

Json = dict[str, Any]  # Any: JSON
BAD_RELEASES: Final[tuple[object, ...]] = ({}, {"version": 1}, [], {"version": ""}, {"version": "x" * 201})


@pytest.fixture
def ci(shop: Project) -> dict[str, str]:
    """The headers of a token for uploads."""
    allocate_ids(shop.pk, "func", 100)  # the shop's builders gave ids without it
    _, clear = create_token(project=shop, scopes=["sourcemaps"])
    return {"Authorization": f"Bearer {clear}"}


def write_zip(files: Mapping[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Returns a zip as the tools write it, with eight bytes before it."""
    raw = io.BytesIO()
    raw.write(b"SYSB\2\0\0\0")
    with zipfile.ZipFile(raw, "a", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return raw.getvalue()


def write_bundle(files: Mapping[str, bytes], **fields: object) -> bytes:
    """Returns an artifact bundle of files by their URLs."""
    names = {url: f"files/{number}" for number, url in enumerate(files)}
    about = {
        names[url]: {"url": url, "type": "source_map" if url.endswith(".map") else "minified_source"} for url in files
    }
    manifest = json.dumps({"org": "any", "project": "shop", "files": about, **fields}).encode()
    return write_zip({**{names[url]: content for url, content in files.items()}, "manifest.json": manifest})


WHOLE = write_bundle({"~/x/main.js": SCRIPT, "~/x/main.js.map": MAP})


def sha1(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def send(client: Client, headers: dict[str, str], *parts: bytes, field: str = "file_gzip", name: str = "") -> Json:
    """Posts parts, and returns the answer with its status."""
    pack = gzip.compress if field == "file_gzip" else bytes
    files = [SimpleUploadedFile(name or sha1(part), pack(part)) for part in parts]
    response = client.post(CHUNKS, {field: files}, headers=headers)
    return {"status": response.status_code, **(response.json() or {})}


def assemble(client: Client, headers: dict[str, str], *parts: bytes, **fields: object) -> Json:
    """Asks for a file of some parts, and returns the answer with its status."""
    body = {"checksum": sha1(b"".join(parts)), "chunks": [sha1(part) for part in parts], "projects": ["shop"]}
    response = client.post(ASSEMBLE, {**body, **fields}, content_type="application/json", headers=headers)
    return {"status": response.status_code, **response.json()}


def upload(client: Client, headers: dict[str, str], bundle: bytes, **fields: object) -> Json:
    assert send(client, headers, bundle) == {"status": 200}
    return assemble(client, headers, bundle, **fields)


OK = {"status": 200, "state": "ok", "missingChunks": [], "detail": None}


def error(detail: str) -> Json:
    return {"status": 200, "state": "error", "missingChunks": [], "detail": detail}


def test_a_bundle_is_uploaded_in_parts_and_kept_by_its_debug_id(
    client: Client, shop: Project, ci: dict[str, str]
) -> None:
    parts = WHOLE[:500], WHOLE[500:]
    missing = assemble(client, ci, *parts, version="1.4.0")
    assert missing == {"status": 200, "state": "not_found", "missingChunks": [sha1(part) for part in parts]}
    assert send(client, ci, parts[0], field="file") == {"status": 200}
    assert assemble(client, ci, *parts)["missingChunks"] == [sha1(parts[1])]
    assert send(client, ci, *parts) == {"status": 200}
    assert assemble(client, ci, *parts, version="1.4.0") == OK
    assert not UploadChunk.objects.exists()
    [script] = ReleaseScript.objects.all()
    assert (script.release, script.uri, script.debug_id) == ("1.4.0", "~/x/main.js", UUID(DEBUG_ID))
    assert Artifact.objects.count() == 2
    assert AnnouncedRelease.objects.filter(project=shop, release="1.4.0").exists()
    assert upload(client, ci, WHOLE, version="1.4.0") == OK
    assert ReleaseScript.objects.count() == 1


def test_scripts_with_addresses_are_kept_by_them(client: Client, shop: Project, ci: dict[str, str]) -> None:
    bundle = write_bundle({URI: BUNDLE, URI + ".map": write_shop_map(), "https://cdn.example/x.js": BUNDLE})
    assert upload(client, ci, bundle, version="1.4.0") == OK
    rows = ReleaseScript.objects.order_by("uri").values_list("uri", "map_id")
    assert [(uri, map_id is not None) for uri, map_id in rows] == [("https://cdn.example/x.js", False), (URI, True)]


def test_files_that_are_left_out_are_named_and_the_others_stored(
    client: Client, shop: Project, ci: dict[str, str]
) -> None:
    other = {"~/b.js": BUNDLE.replace(b"main", b"b"), "~/b.js.map": write_shop_map(), "~/worker.js": b"run()"}
    bundle = write_bundle({"~/x/main.js": SCRIPT, "~/x/main.js.map": MAP, **other})
    left = "it has no debug id, so say where it is served: by its URL prefix. Or inject debug ids first."
    assert upload(client, ci, bundle) == error(f"Stored scripts: 1. Left out: 1. b.js ($): {left}")
    assert list(ReleaseScript.objects.values_list("release", "uri")) == [("(unknown)", "~/x/main.js")]
    # A script without a map and without an id loses nothing; a bundle of such scripts only says nothing about names.
    assert upload(client, ci, write_bundle({"~/worker.js": b"run()"})) == error("None of its scripts has a map.")


def test_a_url_is_escaped_as_in_traces(client: Client, shop: Project, ci: dict[str, str]) -> None:
    upload(client, ci, write_bundle({PREFIX + "/%5Bslug%5D é.js": SCRIPT, PREFIX + "/x.js?v=1#a": SCRIPT}))
    uris = ReleaseScript.objects.order_by("uri").values_list("uri", flat=True)
    assert list(uris) == [PREFIX + "/[slug]%20%C3%A9.js", PREFIX + "/x.js"]


@pytest.mark.parametrize("address", [CHUNKS, ASSEMBLE, "/api/0/", "/api/0/projects/any/shop/releases/"])
def test_strangers_sessions_and_other_tokens_get_nothing(
    client: Client, shop: Project, people: People, bearer: dict[str, str], address: str
) -> None:
    assert client.post(address).status_code == 401
    assert client.post(address, headers={"Authorization": "Bearer ff_00000000_x"}).status_code == 401
    assert client.post(address, headers=bearer).status_code == 403
    client.force_login(people.owner)
    assert client.post(address).status_code == 401
    assert client.get(address).status_code == 401


def test_a_token_uploads_to_its_own_project_only(client: Client, shop: Project, ci: dict[str, str]) -> None:
    _, clear = create_token(project=make_project("other"), scopes=["sourcemaps"])
    others = {"Authorization": f"Bearer {clear}"}
    send(client, others, WHOLE)
    # Whether another project has the parts, nothing says.
    missing = assemble(client, ci, WHOLE)
    assert missing == {"status": 200, "state": "not_found", "missingChunks": [sha1(WHOLE)]}
    answer = assemble(client, ci, WHOLE, projects=["shop", "other"])
    assert answer == {"status": 400, "detail": "This token is for the project shop, not for 'other'."}
    assert assemble(client, others, WHOLE, projects=["other"]) == OK
    assert set(ReleaseScript.objects.values_list("project__slug", flat=True)) == {"other"}


def test_a_part_is_what_its_name_says(client: Client, shop: Project, ci: dict[str, str]) -> None:
    answer = send(client, ci, WHOLE, name=sha1(b"other"))
    assert answer == {
        "status": 400,
        "detail": f"body: a part has not the checksum that it is sent with: {sha1(b'other')}.",
    }
    for name in ("../../etc/passwd", "x" * 200, "é"):
        assert send(client, ci, WHOLE, name=name)["status"] == 400
    for body in (b"no gzip", gzip.compress(b"\0" * (chunks.CHUNK_BYTES + 1)), gzip.compress(b"a") * 2):
        files = [SimpleUploadedFile(sha1(body), body)]
        response = client.post(CHUNKS, {"file_gzip": files}, headers=ci)
        assert response.json() == {"detail": "body: a part is not gzip, or has more than 8388608 bytes."}
    too_long = b"\0" * (chunks.CHUNK_BYTES + 1)
    assert send(client, ci, too_long, field="file")["detail"] == "body: a part has more than 8388608 bytes."
    assert send(client, ci)["detail"] == "body: send 1 to 4 parts, in the fields file or file_gzip."
    assert send(client, ci, *(bytes([at]) for at in range(5)))["status"] == 400
    assert not UploadChunk.objects.exists()


def test_a_body_is_bounded_before_it_is_read(
    client: Client, shop: Project, ci: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentry_uploads, "MAX_REQUEST_BYTES", 100)
    assert send(client, ci, WHOLE) == {"status": 413, "detail": "The body is larger than 100 bytes."}


def test_parts_that_wait_are_bounded_in_number_bytes_and_time(
    client: Client, shop: Project, ci: dict[str, str], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MAX_CHUNKS", 2)
    assert send(client, ci, b"1", b"2")["status"] == 200
    too_many = send(client, ci, b"3")
    assert too_many["detail"] == "body: the parts of unfinished uploads are more than 2, or 268435456 bytes."
    # Another project has room of its own.
    _, clear = create_token(project=make_project("other"), scopes=["sourcemaps"])
    assert send(client, {"Authorization": f"Bearer {clear}"}, b"3")["status"] == 200
    UploadChunk.objects.update(created_at=F("created_at") - timedelta(minutes=61))
    assert send(client, ci, b"3")["status"] == 200
    assert UploadChunk.objects.filter(project=shop).count() == 1
    settings.SOURCE_MAP_MAX_UPLOAD_BYTES = 3
    assert send(client, ci, b"four")["status"] == 400


def test_parts_that_nobody_assembles_are_deleted_by_retention(shop: Project) -> None:
    chunks.store_chunk(shop.pk, sha1(b"old"), b"old")
    UploadChunk.objects.update(created_at=F("created_at") - timedelta(hours=25))
    chunks_at = UploadChunk.objects.values_list("created_at", flat=True).get()
    expire_source_maps(shop.pk, chunks_at + timedelta(hours=23), keep_days=30, shared_days=30)
    assert UploadChunk.objects.exists()
    expire_source_maps(shop.pk, chunks_at + timedelta(hours=25), keep_days=30, shared_days=30)
    assert not UploadChunk.objects.exists()


def test_a_file_is_what_its_checksum_says(client: Client, shop: Project, ci: dict[str, str]) -> None:
    answer = upload(client, ci, WHOLE, checksum=sha1(b"other"))
    assert answer == error("body: its parts do not have its checksum together; send it again.")
    assert not UploadChunk.objects.exists()


def test_a_file_is_bounded_although_a_part_may_be_named_often(
    client: Client, shop: Project, ci: dict[str, str], settings: Settings
) -> None:
    settings.SOURCE_MAP_MAX_UPLOAD_BYTES = 2 * len(WHOLE)
    send(client, ci, WHOLE)
    assert assemble(client, ci, WHOLE, chunks=[sha1(WHOLE)] * 3) == error(
        f"body: it has more than {2 * len(WHOLE)} bytes."
    )


@pytest.mark.parametrize(
    "body",
    [
        {"chunks": ["x"]},
        {"chunks": []},
        {"chunks": [sha1(b"")] * 1_001},
        {"checksum": sha1(b"").upper()},
        {"checksum": None},
        {"projects": "shop"},
        {"version": 1},
        [],
        None,
        "text",
    ],
)
def test_a_body_that_is_none_is_refused(client: Client, shop: Project, ci: dict[str, str], body: object) -> None:
    whole = {"checksum": sha1(b""), "chunks": [sha1(b"")], **body} if isinstance(body, dict) else body
    response = client.post(ASSEMBLE, json.dumps(whole), content_type="application/json", headers=ci)
    assert response.status_code == 400
    assert response.json()["detail"].startswith("The body cannot be read: ")


def test_what_is_no_bundle_is_refused(client: Client, shop: Project, ci: dict[str, str]) -> None:
    manifest = {"files": {"a": {"url": "~/a.js", "type": "minified_source"}}}
    for content, detail in {
        b"text": "It is not a readable artifact bundle: File is not a zip file.",
        write_zip({}): "It has no manifest.json of at most 16777216 bytes.",
        write_zip({"manifest.json": b"{"}): "Its manifest.json cannot be read: Input data was truncated.",
        write_zip(
            {"manifest.json": b"\xff"}
        ): "Its manifest.json cannot be read: JSON is malformed: invalid character (byte 0).",
        write_zip({"manifest.json": b"[" * 9_999}): "Its manifest.json cannot be read: Expected `object`, got `array`.",
        write_zip({"manifest.json": b'{"files":{}}'}): "body: there is neither a script nor a map in it.",
        write_zip(
            {"manifest.json": json.dumps(manifest).encode()}
        ): "Its manifest.json names 'a', which it does not have.",
    }.items():
        assert upload(client, ci, content) == error(detail)
    assert not ReleaseScript.objects.exists()
    assert not UploadChunk.objects.exists()


@pytest.mark.parametrize(
    "url", ["~/../../etc/main.js", "https://shop.example/%2e%2e/main.js", "main.js", "~/", "//x/a.js"]
)
def test_a_manifest_names_no_place_outside(client: Client, shop: Project, ci: dict[str, str], url: str) -> None:
    manifest = json.dumps({"files": {"a": {"url": url, "type": "minified_source"}}}).encode()
    answer = upload(client, ci, write_zip({"a": SCRIPT, "manifest.json": manifest}))
    assert answer["state"] == "error"
    assert not ReleaseScript.objects.exists()


def test_names_in_a_zip_are_no_places(client: Client, shop: Project, ci: dict[str, str]) -> None:
    files = {
        "../../etc/passwd": {"url": "~/main.js", "type": "minified_source"},
        "/map": {"url": "~/main.js.map", "type": "source_map"},
        "source": {"url": "~/main.ts", "type": "source"},
    }
    manifest = json.dumps({"files": files}).encode()
    bundle = write_zip({"../../etc/passwd": SCRIPT, "/map": MAP, "source": b"", "manifest.json": manifest})
    assert upload(client, ci, bundle) == OK
    assert ReleaseScript.objects.get().uri == "~/main.js"


def test_a_zip_is_bounded_in_files_and_bytes(
    client: Client, shop: Project, ci: dict[str, str], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SOURCE_MAP_MAX_FILES = 2
    assert upload(client, ci, WHOLE) == error("It has more than 2 files.")
    settings.SOURCE_MAP_MAX_FILES = 3
    settings.SOURCE_MAP_MAX_EXPANDED_BYTES = 100_000
    bomb = write_bundle({"~/main.js": b"\0" * 100_000, "~/main.js.map": MAP})
    assert len(bomb) < 2_000
    assert upload(client, ci, bomb) == error("Its files have more than 100000 bytes.")
    settings.SOURCE_MAP_MAX_FILE_BYTES = len(SCRIPT)
    answer = upload(client, ci, WHOLE)
    assert answer == error(
        f"Stored scripts: 1. Left out: 1. x/main.js.map ($): {len(MAP)} bytes are more than {len(SCRIPT)}."
    )
    monkeypatch.setattr(artifact_bundles, "MAX_DIRECTORY_BYTES", 100)
    assert upload(client, ci, WHOLE) == error("Its directory has more than 100 bytes.")


def test_a_zip_that_lies_about_its_sizes_is_refused(client: Client, shop: Project, ci: dict[str, str]) -> None:
    at = WHOLE.index(b"PK\1\2") + 24  # the expanded size of the first file, in the directory
    for size in (1, 2**31):
        lie = WHOLE[:at] + struct.pack("<I", size) + WHOLE[at + 4 :]
        answer = upload(client, ci, lie)
        assert answer["state"] == "error", size
    assert not ReleaseScript.objects.filter(map_id__isnull=False).exists()


def test_other_ways_to_pack_are_refused(client: Client, shop: Project, ci: dict[str, str]) -> None:
    manifest = b'{"files":{}}'
    detail = "'manifest.json' is neither stored nor deflated, or it is encrypted."
    assert upload(client, ci, write_zip({"manifest.json": manifest}, method=zipfile.ZIP_LZMA)) == error(detail)
    plain = write_zip({"manifest.json": manifest}, method=zipfile.ZIP_STORED)
    at = plain.index(b"PK\1\2") + 8
    assert upload(client, ci, plain[:at] + b"\1" + plain[at + 1 :]) == error(detail)
    broken = write_zip({"manifest.json": manifest}).replace(b"PK\3\4", b"PK\7\7")
    assert upload(client, ci, broken)["state"] == "error"


def test_uploads_wait_for_a_place(client: Client, shop: Project, ci: dict[str, str]) -> None:
    send(client, ci, WHOLE)
    with upload_turn(), upload_turn():
        assert UPLOADS_AT_ONCE == 2
        body = {"checksum": sha1(WHOLE), "chunks": [sha1(WHOLE)]}
        response = client.post(ASSEMBLE, body, content_type="application/json", headers=ci)
    assert (response.status_code, response["Retry-After"]) == (503, "10")
    assert assemble(client, ci, WHOLE) == OK


def test_the_tools_learn_where_and_how_to_send(client: Client, shop: Project, ci: dict[str, str]) -> None:
    answer = client.get(CHUNKS, headers=ci).json()
    assert answer["url"] == f"http://testserver{CHUNKS}"
    assert answer["maxRequestSize"] == answer["chunksPerRequest"] * answer["chunkSize"]
    below = client.get(CHUNKS, headers=ci, SCRIPT_NAME="/below")
    assert below.json()["url"] == f"http://testserver/below{CHUNKS}"


def test_releases_are_announced_and_otherwise_answered(client: Client, shop: Project, ci: dict[str, str]) -> None:
    for number, address in enumerate(("organizations/any/releases/", "projects/any/shop/releases/")):
        body = {"version": f"shop@{number}", "projects": ["shop"]}
        created = client.post(f"/api/0/{address}", body, content_type="application/json", headers=ci)
        assert (created.status_code, created.json()["version"]) == (201, f"shop@{number}")
        put = client.put(f"/api/0/{address}a%2Fb@1/", {}, content_type="application/json", headers=ci)
        assert (put.status_code, put.json()["version"]) == (200, "a/b@1")
    assert set(AnnouncedRelease.objects.values_list("release", flat=True)) == {"shop@0", "shop@1"}
    other = client.post(
        "/api/0/projects/any/other/releases/", {"version": "1"}, content_type="application/json", headers=ci
    )
    assert other.status_code == 400
    for bad in BAD_RELEASES:
        answer = client.post(
            "/api/0/organizations/any/releases/", json.dumps(bad), content_type="application/json", headers=ci
        )
        assert answer.status_code == 400, bad
    nowhere = client.get("/api/0/organizations/any/repos/", headers=ci)
    assert (nowhere.status_code, nowhere.json()) == (404, {"detail": "There is no such address in this API."})
