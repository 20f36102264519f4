"""`export_profile` writes what the API answers, whole files or none."""

import gzip
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ingest.models import Project
from profcore.formats.registry import EXPORTERS
from tests.profcore.formats.readers import READERS

pytestmark = pytest.mark.django_db


def export(*arguments: str) -> None:
    call_command("export_profile", *arguments)


@pytest.mark.parametrize("name", ["cart.json", "cart.json.gz"])
def test_a_file_is_written_and_packed_by_its_name(shop: Project, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    export("--project", "shop", "--page", "/cart", "--release", "1.0.0", "-o", str(target))
    written = target.read_bytes()
    profile = json.loads(gzip.decompress(written) if name.endswith(".gz") else written)
    assert "draw" in profile["shared"]["stringArray"]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_without_a_file_it_goes_to_standard_output(shop: Project, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    export("--project", "shop", "--page", "/other")
    assert "draw" not in json.loads(capfdbinary.readouterr().out)["shared"]["stringArray"]


@pytest.mark.parametrize("format_name", sorted({told.exporter for told in READERS.values()}))
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_every_format_is_written_packed_once_at_most(
    shop: Project, tmp_path: Path, format_name: str, suffix: str
) -> None:
    target = tmp_path / f"cart.out{suffix}"
    export("--project", "shop", "--page", "/cart", "--format", format_name, "-o", str(target))
    body = target.read_bytes()
    if suffix and not EXPORTERS[format_name].is_packed:
        body = gzip.decompress(body)
    for told in READERS.values():
        if told.exporter == format_name:
            assert sum(told.read(body).self_us.values()) == 9_500


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--project", "none"), "There is no project"),
        (("--project", "shop", "--from", "soon"), "--from: from must be"),
        (("--project", "shop", "--axis", "time"), "--axis: axis=time takes view or trace"),
        (("--project", "shop", "--base-release", "1.0.0"), "--head-release: head_release must name"),
        (("--project", "shop", "-o", "/no/such/folder/x.json"), "cannot be written"),
    ],
)
def test_what_is_wrong_is_one_sentence(shop: Project, arguments: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        export(*arguments)


@pytest.mark.parametrize(
    ("arguments", "tracks"),
    [
        (("--segment", "page"), ["All: /cart", "page: /cart"]),
        (
            ("--base-release", "1.0.0", "--head-release", "2.0.0"),
            ["Head minus base, ms a page view", "Head: The shop", "Base: 1.0.0"],
        ),
    ],
)
def test_segments_and_differences_are_written_too(
    shop: Project, tmp_path: Path, arguments: tuple[str, ...], tracks: list[str]
) -> None:
    export("--project", "shop", *arguments, "-o", str(tmp_path / "x.json"))
    profile = json.loads((tmp_path / "x.json").read_bytes())
    assert [thread["name"] for thread in profile["threads"]] == tracks
