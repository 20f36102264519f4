"""`upload_sourcemaps` and `symbolicate`: what they print, and their exit codes."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from aggregate.label_models import ReleaseScript
from aggregate.models import Func
from profcore.trace.funcs import resource_uri
from projects.models import Project
from tests.aggregate.sourcemaps.shop import ARROW, BUNDLE, DOUBLE, PREFIX, intern, picture, write_shop_map
from tests.builders import make_cell, make_hotspot

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return Project.objects.create(slug="shop", name="Shop")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.js").write_bytes(BUNDLE)
    (tmp_path / "main.js.map").write_bytes(write_shop_map())
    (tmp_path / "vendor.js").write_bytes(b"1")
    return tmp_path


def run(*arguments: str, **options: Any) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def upload(folder: Path, *more: str) -> str:
    return run(
        "upload_sourcemaps", "--project", "shop", "--release", "1.0.0", "--url-prefix", PREFIX, *more, str(folder)
    )


def test_a_folder_is_uploaded_and_labelled(project: Project, folder: Path) -> None:
    assert upload(folder).splitlines() == [
        "main.js    sourceMappingURL   main.js.map",
        "vendor.js  no map             -",
        "2 scripts (1 by sourceMappingURL, 1 no map), 3 files new.",
        "No trace of release 1.0.0 was received yet. Names appear with the first one.",
    ]
    assert "0 files new.\n" in upload(folder)
    intern(project.pk)
    assert run("symbolicate", "--project", "shop") == "3 functions of 1 scripts labelled.\n"
    assert "double" in picture(project.pk)
    assert run("symbolicate", "--project", "shop").startswith("0 functions")
    assert run("symbolicate", "--project", "shop", "--anew").startswith("3 functions")


def test_the_command_names_the_address_from_which_traces_came(project: Project, folder: Path) -> None:
    cell = make_cell(project)
    for func in Func.objects.filter(id__in=intern(project.pk, DOUBLE, ARROW)):
        make_hotspot(cell, func, self_us=1, total_us=1)
    lines = upload(folder, "--url-prefix", "https://other.example/").splitlines()
    assert lines[-1] == "2 of 2 functions of release 1.0.0 are in these files. A worker is naming them now."
    arguments = ("--project", "shop", "--release", "1.0.0", "--url-prefix", "https://other.example/", str(folder))
    assert run("upload_sourcemaps", *arguments).splitlines()[-2:] == [
        f"No trace of release 1.0.0 came from a script at https://other.example/ yet. Its traces came from {PREFIX}/.",
        f"The files match there: repeat with --url-prefix {PREFIX}/",
    ]


SPELLINGS = [
    "app/[slug]/%2540x/é main.js",
    "app/%5Bslug%5D/%2540x/%C3%A9%20main.js",
    "app/[slug]/%2540x/%c3%a9%20main.js",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_any_spelling_of_an_address_counts_and_is_suggested(project: Project, tmp_path: Path, spelling: str) -> None:
    bundle = tmp_path / "app/[slug]/%40x/é main.js"
    bundle.parent.mkdir(parents=True)
    bundle.write_bytes(BUNDLE)
    bundle.with_name("main.js.map").write_bytes(write_shop_map())
    uri = resource_uri(f"{PREFIX}/v1/{spelling}", None, "")
    keys = [key._replace(uri=uri) for key in (DOUBLE, ARROW)]
    cell = make_cell(project)
    for func in Func.objects.filter(id__in=intern(project.pk, *keys)):
        make_hotspot(cell, func, self_us=1, total_us=1)
    assert upload(tmp_path).splitlines()[-1].endswith(f"repeat with --url-prefix {PREFIX}/v1/")
    arguments = ("--project", "shop", "--release", "1.0.0", "--url-prefix", PREFIX + "/%76%31/", str(tmp_path))
    assert run("upload_sourcemaps", *arguments).splitlines()[-1].startswith("2 of 2 functions")
    run("symbolicate", "--project", "shop")
    assert "double" in picture(project.pk)


def test_a_map_that_is_named_but_not_there_is_said(project: Project, folder: Path) -> None:
    (folder / "vendor.js").write_bytes(b"1\n//# sourceMappingURL=maps/\x1bvendor.map")
    assert "vendor.js: its sourceMappingURL names maps/\ufffdvendor.map, which is not in the folder." in upload(folder)


def test_a_file_that_is_left_out_has_an_exit_code_of_its_own(project: Project, folder: Path) -> None:
    (folder / "main.js.map").write_text("{")
    with pytest.raises(CommandError, match="1 files were left out") as caught:
        upload(folder)
    assert caught.value.returncode == 3


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--project", "gone"], "no project"),
        (["--url-prefix", "assets"], "--url-prefix: 'assets' must be a URL"),
        (["--release", ""], "--release: 1 to 200"),
    ],
)
def test_what_is_wrong_is_named_by_its_option(project: Project, folder: Path, arguments: list[str], what: str) -> None:
    with pytest.raises(CommandError, match=what):
        upload(folder, *arguments)


def test_a_path_that_is_not_a_folder_is_named(project: Project, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is not a folder"):
        upload(tmp_path / "gone")
    with pytest.raises(CommandError, match="neither a script"):
        upload(tmp_path)


def test_failed_maps_are_listed(project: Project, folder: Path) -> None:
    upload(folder)
    ReleaseScript.objects.filter(file="main.js").update(failure="it was too much.", pending_at=None)
    with pytest.raises(CommandError, match="1 maps failed"):
        run("symbolicate", "--project", "shop")
