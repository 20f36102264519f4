"""Labels come whichever is first, map or funcs; they go with their map, and change with it. Nothing folded changes."""

import pytest
from django.db import OperationalError
from pytest_django import Settings

from aggregate.doctor.script_checks import select_uploaded
from aggregate.fold import interning
from aggregate.hung_stacks import HungStacks
from aggregate.label_models import Artifact, Label, ReleaseScript, Source
from aggregate.models import Func, WorkerLease
from aggregate.sourcemaps import labelling
from aggregate.sourcemaps.coverage import select_coverage
from aggregate.sourcemaps.deleting import delete_release
from aggregate.sourcemaps.labelling import label_all, label_in_turn, label_script
from aggregate.sourcemaps.moving import move_scripts
from aggregate.sourcemaps.queue import SYMBOLICATE_TASK, claim_script, count_pending, scan_new_funcs
from profcore.caching import clear_caches
from projects.models import Project
from tests.aggregate.sourcemaps.shop import (
    ARROW,
    BUNDLE,
    DOUBLE,
    HEAD,
    PREFIX,
    SOURCE,
    URI,
    files_of,
    intern,
    picture,
    upload,
    write_shop_map,
)
from tests.builders import make_cell, make_hotspot

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(20)]

LABELS = """\
1.0.0 1 unmapped
1.0.0 11 double src/list.js:1:23
1.0.0 28 (anonymous) src/list.js:2:19"""


@pytest.fixture
def project() -> Project:
    return Project.objects.create(slug="shop", name="Shop")


def test_a_map_that_comes_first_labels_funcs_that_come_later(project: Project) -> None:
    upload(project.pk)
    assert label_all() == 0
    intern(project.pk)
    assert label_all() == 3
    assert picture(project.pk) == LABELS


def test_a_late_map_labels_funcs_that_were_there(project: Project) -> None:
    intern(project.pk)
    assert label_all() == 0
    upload(project.pk)
    assert label_all() == 3
    assert picture(project.pk) == LABELS


def test_funcs_that_come_one_by_one_are_looked_at_once(project: Project) -> None:
    upload(project.pk)
    for key in (DOUBLE, ARROW, HEAD):
        intern(project.pk, key)
        assert label_all() == 1
    assert label_all() == 0
    assert picture(project.pk) == LABELS


HOSTS = "https://*.shop.example/assets"
COVERED = [URI.replace("//", f"//{host}.") for host in ("a", "b.c")]
NOT_COVERED = [
    *(URI, URI.replace("https", "http").replace("//", "//a."), URI.replace("//", "//a.x")),
    *(
        URI.replace("//", "//a.").replace("/assets", ":8443/assets"),
        COVERED[0] + "x",
        COVERED[0].replace("main", "Main"),
    ),
    "https://a.example/a.shop.example/assets/main.js",
]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_script_of_all_subdomains_labels_the_funcs_of_each(project: Project, is_first: bool) -> None:
    if is_first:
        upload(project.pk, prefix=HOSTS)
        assert label_all() == 0
    ids = intern(project.pk, *(DOUBLE._replace(uri=uri) for uri in [*COVERED, *NOT_COVERED]))
    if not is_first:
        upload(project.pk, prefix=HOSTS)
    scan_new_funcs(project.pk)
    assert count_pending(project.pk) == (1, len(COVERED))
    assert label_all() == len(COVERED)
    labels = dict(Label.objects.values_list("func_id", "name"))
    assert labels == dict.fromkeys(ids[: len(COVERED)], "double")
    assert label_all() == 0
    intern(project.pk, ARROW._replace(uri=COVERED[1]))
    assert label_all() == 1
    assert move_scripts(project.pk, "1.0.0", "https://other.example/") == 1
    assert set(ReleaseScript.objects.values_list("uri", flat=True)) == {
        HOSTS + "/main.js",  # traces named it
        "https://other.example/main.js",
    }


def test_a_script_of_one_host_goes_before_that_of_all(project: Project) -> None:
    ids = intern(project.pk, *(DOUBLE._replace(uri=uri) for uri in COVERED))
    own = write_shop_map(names=["twice"], sourcesContent=[SOURCE.replace("double", "twice")])
    upload(
        project.pk, prefix=COVERED[0].removesuffix("/main.js"), files=files_of({"main.js": BUNDLE, "main.js.map": own})
    )
    upload(project.pk, prefix=HOSTS)
    label_all()
    names = dict(Label.objects.values_list("func_id", "name"))
    assert [names[func_id] for func_id in ids] == ["twice", "double"]


def test_coverage_counts_the_funcs_of_all_subdomains(project: Project) -> None:
    cell = make_cell(project)
    intern(project.pk, *(DOUBLE._replace(uri=uri) for uri in [*COVERED, *NOT_COVERED]))
    for func in Func.objects.all():
        make_hotspot(cell, func, self_us=1, total_us=1)
    upload(project.pk, prefix=HOSTS)
    label_all()
    for coverage in (select_coverage(project.pk, "1.0.0", [HOSTS]), select_coverage(project.pk, "1.0.0")):
        assert (coverage.all_functions, coverage.matched, coverage.named) == (9, 2, 2)
        assert coverage.functions == 4  # with other files of the folder
        assert coverage.prefixes == (HOSTS + "/",)
    assert select_uploaded(project.pk, "1.0.0", [*COVERED, *NOT_COVERED]) == set(COVERED)


def test_new_funcs_wake_a_worker_and_known_ones_do_not(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[str] = []
    monkeypatch.setattr(interning, "notify_worker", lambda task, _: woken.append(task))
    intern(project.pk, DOUBLE)
    clear_caches()
    intern(project.pk, DOUBLE)
    assert woken == [SYMBOLICATE_TASK]


def test_funcs_of_other_scripts_are_left_alone(project: Project) -> None:
    upload(project.pk)
    intern(project.pk, DOUBLE._replace(uri=URI + "x"), DOUBLE._replace(uri=None), DOUBLE._replace(line=None))
    assert label_all() == 0
    assert picture(project.pk) == ""


def test_each_release_has_labels_of_its_own(project: Project) -> None:
    upload(project.pk, "1.0.0")
    moved = write_shop_map("\n\n" + SOURCE, line=2)
    upload(project.pk, "1.1.0", files=files_of({"main.js": BUNDLE, "main.js.map": moved}))
    intern(project.pk, DOUBLE)
    assert label_all() == 2
    assert picture(project.pk) == "1.0.0 11 double src/list.js:1:23\n1.1.0 11 double src/list.js:3:23"


def test_the_body_of_a_function_is_the_same_where_it_moved(project: Project) -> None:
    test_each_release_has_labels_of_its_own(project)
    hashes = {bytes(label.body_hash or b"") for label in Label.objects.all()}
    assert len(hashes) == 1
    assert hashes != {b""}


def test_another_map_for_the_same_script_labels_anew(project: Project) -> None:
    intern(project.pk)
    upload(project.pk)
    label_all()
    upload(project.pk, files=files_of({"main.js": BUNDLE, "main.js.map": write_shop_map("\n" + SOURCE, line=1)}))
    assert count_pending(project.pk) == (1, 3)
    assert label_all() == 3
    assert "double src/list.js:2:23" in picture(project.pk)
    assert Artifact.objects.count() == 2  # the map that nothing has any more is gone


def test_the_same_upload_again_changes_nothing(project: Project) -> None:
    intern(project.pk)
    upload(project.pk)
    label_all()
    assert upload(project.pk).new_files == 0
    assert count_pending(project.pk) == (0, 0)
    assert label_all() == 0


def test_deleting_a_release_takes_its_labels_away(project: Project) -> None:
    intern(project.pk)
    upload(project.pk, "1.0.0")
    upload(project.pk, "1.1.0")
    label_all()
    assert delete_release(project.pk, "1.0.0") == 1
    assert set(Label.objects.values_list("release", flat=True)) == {"1.1.0"}
    assert (Artifact.objects.count(), Source.objects.count()) == (2, 1)
    assert delete_release(project.pk, "1.1.0") == 1
    assert [model.objects.count() for model in (Artifact, Source, Label, ReleaseScript)] == [0, 0, 0, 0]


def test_one_projects_maps_label_nothing_of_another(project: Project) -> None:
    stranger = Project.objects.create(slug="stranger", name="Stranger")
    upload(project.pk)
    intern(stranger.pk)
    assert label_all() == 0
    assert delete_release(stranger.pk, "1.0.0") == 0
    assert ReleaseScript.objects.count() == 1


def test_deleting_the_project_takes_all_away(project: Project) -> None:
    intern(project.pk)
    upload(project.pk)
    label_all()
    project.delete()
    assert [model.objects.count() for model in (Artifact, Source, Label, ReleaseScript)] == [0, 0, 0, 0]


def test_many_funcs_are_labelled_in_batches(project: Project, settings: Settings) -> None:
    settings.SYMBOLICATE_BATCH_FUNCS = 2
    intern(project.pk)
    upload(project.pk)
    assert label_all() == 3
    assert picture(project.pk) == LABELS
    assert count_pending(project.pk) == (0, 0)


def test_a_map_that_crashes_its_process_is_rejected_and_others_go_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    intern(project.pk)
    intern(project.pk, DOUBLE._replace(uri=PREFIX + "/other.js"))
    upload(project.pk, files=files_of({"main.js": BUNDLE, "main.js.map": write_shop_map(file="poison")}))
    upload(project.pk, files=files_of({"other.js": BUNDLE, "other.js.map": write_shop_map(file="fine")}))
    monkeypatch.setattr(labelling, "ISOLATED_MODULE", "tests.fault_injection.source_maps")
    label_all()
    scripts = {script.file: script for script in ReleaseScript.objects.all()}
    assert scripts["main.js"].failure == "Reading the map crashed its process 3 times: exit status -11."
    assert scripts["main.js"].pending_at is None
    assert scripts["other.js"].failure is None
    assert Label.objects.count() == 1


def test_a_map_that_never_ends_is_rejected(
    project: Project, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.SYMBOLICATE_TIMEOUT_S = 1
    settings.SYMBOLICATE_ATTEMPTS = 1
    intern(project.pk)
    upload(project.pk, files=files_of({"main.js": BUNDLE, "main.js.map": write_shop_map(file="hang")}))
    monkeypatch.setattr(labelling, "ISOLATED_MODULE", "tests.fault_injection.source_maps")
    label_all()
    assert "no answer within 1 s" in (ReleaseScript.objects.get().failure or "")


def test_a_map_that_takes_too_much_memory_is_rejected(project: Project, settings: Settings) -> None:
    intern(project.pk)
    padded = write_shop_map(padding="x" * 3_000_000)
    upload(project.pk, files=files_of({"main.js": BUNDLE, "main.js.map": padded}))
    settings.SYMBOLICATE_MEMORY_BYTES = 1
    label_all()
    assert ReleaseScript.objects.get().failure == "$: reading it takes more than 1 bytes of memory."


def test_a_fault_of_the_database_is_not_the_maps(
    project: Project, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    intern(project.pk)
    upload(project.pk)

    def fail(*_: object) -> None:
        raise OperationalError

    monkeypatch.setattr(labelling, "_write", fail)
    for _ in range(settings.SYMBOLICATE_ATTEMPTS + 2):
        with pytest.raises(OperationalError):
            label_all()
    monkeypatch.undo()
    assert label_all() == 3


def test_a_worker_labels_for_some_seconds_and_comes_back(project: Project, settings: Settings) -> None:
    settings.SYMBOLICATE_TURN_S = 0
    intern(project.pk)
    upload(project.pk, "1")
    upload(project.pk, "2")
    assert [label_in_turn(), label_in_turn(), label_in_turn()] == [True, True, False]
    assert Label.objects.count() == 6


def test_a_map_that_is_rejected_is_tried_again_with_the_next_upload(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    test_a_map_that_crashes_its_process_is_rejected_and_others_go_on(project, monkeypatch)
    monkeypatch.undo()
    upload(project.pk, files=files_of({"main.js": BUNDLE, "main.js.map": write_shop_map(file="poison")}))
    assert label_all() == 3
    assert not ReleaseScript.objects.exclude(failure=None).exists()


def test_what_is_uploaded_anew_meanwhile_is_not_overwritten(project: Project) -> None:
    intern(project.pk)
    upload(project.pk)
    claim = claim_script()
    assert claim is not None
    upload(project.pk, files=files_of({"main.js": BUNDLE, "main.js.map": write_shop_map("\n" + SOURCE, line=1)}))
    assert label_script(claim) == 0
    assert picture(project.pk) == ""
    assert label_all() == 3
    assert "double src/list.js:2:23" in picture(project.pk)


def test_funcs_that_come_while_a_script_is_labelled_wait_for_the_next_time(project: Project) -> None:
    intern(project.pk, DOUBLE)
    upload(project.pk)
    claim = claim_script()
    assert claim is not None
    funcs = labelling.load_funcs(claim)
    intern(project.pk, ARROW)
    scan_new_funcs(project.pk)
    labelling._write(claim, funcs, labelling._run(claim, funcs, []), HungStacks(claim.uri, []))
    assert label_all() == 1
    assert "(anonymous)" in picture(project.pk)


def test_a_claim_holds_off_others_until_its_lease_ends(project: Project) -> None:
    intern(project.pk)
    upload(project.pk)
    assert claim_script() is not None
    assert claim_script() is None
    ReleaseScript.objects.update(claimed_until="2020-01-01T00:00:00Z")
    again = claim_script()
    assert again is not None
    assert again.attempts == 2


def test_a_claim_ends_with_its_claimant(project: Project) -> None:
    intern(project.pk)
    upload(project.pk)
    assert claim_script() is not None
    WorkerLease.objects.all().delete()
    again = claim_script()
    assert again is not None
    assert again.attempts == 2


def test_projects_take_turns(project: Project, settings: Settings) -> None:
    settings.SYMBOLICATE_AT_ONCE = 3
    other = Project.objects.create(slug="other", name="Other")
    for release in ("1", "2", "3"):
        upload(project.pk, release)
    upload(other.pk)
    claimed = [claim_script() for _ in range(4)]
    assert [claim and claim.project_id for claim in claimed] == [project.pk, other.pk, project.pk, None]


def test_projects_take_turns_one_script_at_a_time(project: Project) -> None:
    others = [Project.objects.create(slug=slug, name=slug) for slug in ("other", "third")]
    for release in ("1", "2", "3"):
        upload(project.pk, release)
    for other in others:
        upload(other.pk)
    order = []
    while (claim := claim_script()) is not None:
        order.append(claim.project_id)
        label_script(claim)
    assert order == [project.pk, *(other.pk for other in others), project.pk, project.pk]


def test_the_number_of_maps_that_are_read_at_once_is_limited(project: Project) -> None:
    intern(project.pk)
    upload(project.pk, "1.0.0")
    upload(project.pk, "1.1.0")
    assert claim_script() is not None
    assert claim_script() is None
    assert claim_script(project_id=project.pk) is not None  # the command's
