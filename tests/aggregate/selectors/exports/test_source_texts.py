"""Texts of sources are read while a file is written, some at a time: their sum takes no memory."""

import gzip
import json
import tracemalloc
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from pytest_django import Settings

from aggregate.label_models import Source
from aggregate.selectors.exports.source_texts import add_texts
from profcore.formats.firefox.writer import write_profile
from profcore.formats.slice import ExportFunc, ExportOriginal, SliceExport
from projects.models import Project
from tests.builders import make_project
from tests.profcore.formats.builders import URI, export_of
from tests.profcore.formats.readers import texts_of

pytestmark = pytest.mark.django_db
MEBIBYTE = 2**20


def store(project: Project, texts: Sequence[str]) -> SliceExport:
    """Stores sources, and returns an export with a function of each: the first one takes the most time."""
    Source.objects.bulk_create(
        Source(
            project=project,
            id=number,
            digest=b"%d" % number,
            name=f"src/{number}.ts",
            path=f"src/{number}.ts",
            content=gzip.compress(text.encode(), 1),
            size_bytes=len(text.encode()),
        )
        for number, text in enumerate(texts)
    )
    funcs = [
        ExportFunc(
            label=f"f{number}",
            name=f"f{number}",
            uri=URI,
            line=number + 1,
            column=1,
            original=ExportOriginal(f"src/{number}.ts", 1, 1, number),
        )
        for number in range(len(texts))
    ]
    return export_of({func.label: 1_000 * (len(texts) - at) for at, func in enumerate(funcs)}, funcs=funcs)


def write(project: Project, export: SliceExport) -> dict[str, Any]:
    profile: dict[str, Any] = json.loads(b"".join(write_profile(add_texts(project.pk, export))))  # type: ignore[arg-type]
    return profile


def read_note(profile: dict[str, Any]) -> str:
    """Returns what "Profile Info" says of the texts."""
    entries = (entry for section in profile["meta"]["extra"] for entry in section["entries"])
    return next(str(entry["value"]) for entry in entries if entry["label"] == "Sources")


def make_texts(count: int) -> list[str]:
    """Returns texts of 100 kB, which gzip halves."""
    random = Random(29)
    return [random.randbytes(50_000).hex() for _ in range(count)]


def measure_peak(project: Project, export: SliceExport) -> int:
    """Returns the most bytes that choosing and writing took at a time, with a writer that keeps nothing."""
    tracemalloc.start()
    assert sum(map(len, write_profile(add_texts(project.pk, export)))) > 0  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_twice_the_texts_take_no_more_memory() -> None:
    peaks = []
    for name, count in (("small", 50), ("large", 100)):
        project = make_project(slug=name)
        peaks.append(measure_peak(project, store(project, make_texts(count))))
    assert peaks[1] < peaks[0] + MEBIBYTE, peaks
    assert peaks[1] < 4 * MEBIBYTE, peaks


def test_each_source_gets_its_own_text() -> None:
    project = make_project()
    texts = ["é🎈" * 50_000, "", "\0 and \u2028\n", *make_texts(40)]
    profile = write(project, store(project, texts))
    expected = {f"src/{number}.ts": text.replace("\0", "\ufffd") for number, text in enumerate(texts)}
    assert texts_of(profile) == {URI: None, **expected}
    assert read_note(profile) == "Texts of 43 original sources."


def test_what_does_not_fit_is_left_out_and_said(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SOURCE_TEXTS_MAX_BYTES = 15
    monkeypatch.setattr("aggregate.selectors.exports.source_texts.SOURCE_VIEW_MAX_BYTES", 10)
    project = make_project()
    profile = write(project, store(project, ["a" * 11, "b" * 10, "c" * 6, "d" * 5]))
    texts = texts_of(profile)
    assert [texts[f"src/{number}.ts"] for number in range(4)] == [None, "b" * 10, None, "d" * 5]
    assert read_note(profile).startswith("Texts of 2 original sources. 2 more are left out: too large")


def test_a_text_that_is_deleted_meanwhile_is_none() -> None:
    project = make_project()
    export = add_texts(project.pk, store(project, ["gone", "kept"]))
    Source.objects.filter(project=project, id=0).delete()
    assert isinstance(export, SliceExport)
    texts = texts_of(json.loads(b"".join(write_profile(export))))
    assert (texts["src/0.ts"], texts["src/1.ts"]) == (None, "kept")
