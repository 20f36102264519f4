"""Whatever the order of uploads, funcs, deletions and workers: labels are those of what is uploaded in the end."""

import random
import threading
from collections.abc import Callable

import pytest
from django.db import connection

from aggregate.label_models import Artifact, Label, ReleaseScript, Source
from aggregate.sourcemaps import scripts
from aggregate.sourcemaps.deleting import delete_release
from aggregate.sourcemaps.labelling import label_all, label_script
from aggregate.sourcemaps.queue import claim_script, scan_new_funcs
from aggregate.sourcemaps.scripts import ScriptRow
from projects.models import Project
from tests.aggregate.sourcemaps.shop import (
    ARROW,
    BUNDLE,
    DOUBLE,
    HEAD,
    SOURCE,
    files_of,
    intern,
    picture,
    upload,
    write_shop_map,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(20)]

FIRST = files_of({"main.js": BUNDLE, "main.js.map": write_shop_map()})
SECOND = files_of({"main.js": BUNDLE, "main.js.map": write_shop_map("\n" + SOURCE, line=1)})
RELEASES = ("1", "2")


def expected(lines: dict[str, int], columns: set[int]) -> str:
    """Draws the labels of releases whose map has `double` at a line, for the funcs that are there."""
    rows = []
    for release, line in sorted(lines.items()):
        rows += [f"{release} 1 unmapped"] * (1 in columns)
        rows += [f"{release} 11 double src/list.js:{line}:23"] * (11 in columns)
        rows += [f"{release} 28 (anonymous) src/list.js:{line + 1}:19"] * (28 in columns)
    return "\n".join(rows)


@pytest.mark.parametrize("seed", range(12))
def test_labels_are_those_of_what_is_uploaded_in_the_end(seed: int) -> None:
    project = Project.objects.create(slug="shop", name="Shop")
    chance = random.Random(seed)
    lines: dict[str, int] = {}
    columns: set[int] = set()
    for _ in range(12):
        release = chance.choice(RELEASES)
        match chance.randrange(6):
            case 0:
                key = chance.choice((DOUBLE, ARROW, HEAD))
                intern(project.pk, key)
                columns.add(key.column or 0)
            case 1:
                upload(project.pk, release, files=FIRST)
                lines[release] = 1
            case 2:
                upload(project.pk, release, files=SECOND)
                lines[release] = 2
            case 3:
                delete_release(project.pk, release)
                lines.pop(release, None)
            case 4:
                scan_new_funcs(project.pk)
                claim = claim_script(project_id=project.pk)
                if claim is not None and chance.random() < 0.5:  # else its worker dies, and the lease runs out
                    label_script(claim)
            case _:
                label_all(project.pk)
    ReleaseScript.objects.update(claimed_until=None)
    label_all(project.pk)
    assert picture(project.pk) == expected(lines, columns)
    assert Artifact.objects.count() == (1 + len(set(lines.values())) if lines else 0)
    assert set(Source.objects.values_list("id", flat=True)) >= set(
        Label.objects.exclude(source_id=None).values_list("source_id", flat=True)
    )


def in_threads(*works: Callable[[], object]) -> None:
    """Runs each in a thread with a connection of its own; raises what one of them raised."""
    errors: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # told below
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if errors:
        raise errors[0]


def test_workers_uploads_and_deletions_at_once_leave_whole_labels() -> None:
    project = Project.objects.create(slug="shop", name="Shop")
    intern(project.pk, DOUBLE)

    def change(release: str) -> None:
        for number in range(4):
            upload(project.pk, release, files=SECOND if number % 2 else FIRST)
            if number == 1:
                delete_release(project.pk, release)

    def work() -> None:
        for _ in range(4):
            label_all(project.pk)

    in_threads(lambda: change("1"), lambda: change("2"), work, work, lambda: intern(project.pk, ARROW, HEAD))
    ReleaseScript.objects.update(claimed_until=None)
    label_all(project.pk)
    assert picture(project.pk) == expected({"1": 2, "2": 2}, {1, 11, 28})


def test_funcs_that_come_while_the_same_is_uploaded_again_are_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project.objects.create(slug="shop", name="Shop")
    upload(project.pk)
    label_all(project.pk)
    original = scripts._merge

    def come() -> None:
        intern(project.pk, DOUBLE)
        scan_new_funcs(project.pk)
        connection.close()

    thread = threading.Thread(target=come)

    def merge(row: ScriptRow, known: ReleaseScript | None) -> ScriptRow:
        thread.start()
        thread.join(1)  # it waits for the upload to end
        return original(row, known)

    monkeypatch.setattr(scripts, "_merge", merge)
    upload(project.pk)
    thread.join()
    assert label_all(project.pk) == 1
