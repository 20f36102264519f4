"""`export_profile` writes what the API answers, whole files or none."""

import gzip
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from profcore.formats.registry import EXPORTERS
from projects.models import Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post, rows
from tests.builders import make_project
from tests.dashboard.conftest import RAW_BODY, TRACE_ID
from tests.envelopes import make_envelope, view_id_of
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


@pytest.mark.parametrize("format_name", sorted({reader.exporter for reader in READERS.values()}))
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_every_format_is_written_packed_once_at_most(
    shop: Project, tmp_path: Path, format_name: str, suffix: str
) -> None:
    target = tmp_path / f"cart.out{suffix}"
    export("--project", "shop", "--page", "/cart", "--format", format_name, "-o", str(target))
    body = target.read_bytes()
    if suffix and not EXPORTERS[format_name].is_gzip:
        body = gzip.decompress(body)
    for reader in READERS.values():
        if reader.exporter == format_name:
            assert sum(reader.read(body).self_us.values()) == 9_500


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--project", "none"), "There is no project"),
        (("--project", "shop", "--from", "soon"), "--from: from must be"),
        (("--project", "shop", "--axis", "time"), "--axis: axis=time takes view or trace"),
        (("--project", "shop", "--base-release", "1.0.0"), "--head-release: head_release must be given"),
        (("--project", "shop", "--tag", "warm"), "--tag: tag must be key:value"),
        (("--project", "shop", "--func-over", "1"), "--func-over: func_over must be"),
        (("--project", "shop", "-o", "/no/such/folder/x.json"), "cannot be written"),
        (("--project", "shop", "--format", "raw"), "--format raw takes one --trace"),
        (("--project", "shop", "--format", "raw", "--trace", TRACE_ID, "--page", "/cart"), "takes one --trace"),
        (("--project", "shop", "--format", "raw", "--trace", "nonsense"), "--trace: there is no such trace"),
        (("--project", "shop", "--func-over", "1"), "--func-over: func_over"),
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
            ["Change per view", "Head: The shop", "Base: 1.0.0"],
        ),
    ],
)
def test_segments_and_differences_are_written_too(
    shop: Project, tmp_path: Path, arguments: tuple[str, ...], tracks: list[str]
) -> None:
    export("--project", "shop", *arguments, "-o", str(tmp_path / "x.json"))
    profile = json.loads((tmp_path / "x.json").read_bytes())
    assert [thread["name"] for thread in profile["threads"]] == tracks


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_raw_trace_is_written_as_it_came(shop: Project, tmp_path: Path, name: str) -> None:
    export("--project", "shop", "--format", "raw", "--trace", TRACE_ID, "-o", str(tmp_path / name))
    written = (tmp_path / name).read_bytes()
    assert (gzip.decompress(written) if name.endswith(".gz") else written) == RAW_BODY


def test_a_fine_slice_of_any_size_is_what_the_api_answers(
    client: Client, settings: Settings, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    project = make_project("site")
    for n in range(5):
        post("KEY-site", make_envelope(f"v{n}", "A\nA B" if n % 2 else "C", tags={"cache": "warm" if n else "cold"}))
    fold_all()
    _, clear = create_token(project=project)
    trace = str(rows("SELECT trace_id FROM ingest_rawtrace WHERE view_id = %s::uuid", view_id_of("v1"))[0][0])
    func = str(rows("SELECT id FROM aggregate_func WHERE name = 'A'")[0][0])
    for name, value in [
        ("tag", "cache:warm"),
        ("view", view_id_of("v1")),
        ("trace", trace),
        ("func-over", f"{func}:5"),
    ]:
        settings.READ_MAX_VIEWS = settings.READ_MAX_RAW_TRACES = 100
        params = {"format": "firefox", name.replace("-", "_"): value}
        answer = client.get(
            "/api/v1/projects/site/profile", params, headers={"Authorization": f"Bearer {clear}"}
        ).getvalue()
        settings.READ_MAX_VIEWS = settings.READ_MAX_RAW_TRACES = settings.JOB_BATCH_TRACES = 1
        export("--project", "site", f"--{name}", value)
        profile, wanted = json.loads(capfdbinary.readouterr().out), json.loads(answer)
        assert (profile["shared"], profile["threads"]) == (wanted["shared"], wanted["threads"])
