"""Erasing by a tag: all views that carry it go as if they had never arrived, and no others."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from aggregate.jobs.runs import JobRun, claim_job
from aggregate.maintenance import tag_erasures
from aggregate.maintenance.tag_erasures import erase_tagged, run_tag_erasure, start_tag_erasure
from aggregate.models import Job, PageView
from aggregate.stopping import Stopping
from ingest.models import RawTrace, Receipt
from projects.models import AuditEntry, SavedView, SharedLink
from tests.aggregate.posting import everything, fold_all, post
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)
SHAPES: list[Any] = [{"visitor": "a"}, ["visitor:a"], ["dark", "visitor=a"]]


def run_job(project_id: int) -> dict[str, int]:
    start_tag_erasure(project_id, "visitor", "a")
    run = claim_job()
    assert run is not None
    result = run_tag_erasure(run)
    run.store(result)
    assert Job.objects.get(id=run.job.id).params == []
    outcome: dict[str, int] = json.loads(b"".join(result.pieces))
    return outcome


def test_the_sums_are_as_if_the_views_had_never_arrived(key: str, project_id: int) -> None:
    post(key, make_envelope("other", tags=["visitor:ab"]), make_envelope("none"))
    fold_all()
    before = everything()
    for number, tags in enumerate(SHAPES):
        post(key, make_envelope(f"mine {number}"))  # before the page knew its visitor
        post(key, make_envelope(f"mine {number}", seq=1, tags=tags))
    fold_all()
    post(key, make_envelope("pending", tags=["visitor:a"]))
    outcome = run_job(project_id)
    assert (outcome["views"], outcome["traces"]) == (3, 7)
    assert everything() == before
    assert Receipt.objects.count() == RawTrace.objects.count() == PageView.objects.count() == 2


def test_it_can_be_run_again_and_finds_nothing(key: str, project_id: int) -> None:
    post(key, make_envelope("mine", tags=["visitor:a"]))
    fold_all()
    assert run_job(project_id)["views"] == 1
    assert run_job(project_id) == {"traces": 0, "views": 0, "kept_sums": 0, "kept_trees": 0}


def test_a_stopped_job_goes_on_and_counts_all_of_it(key: str, project_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        post(key, make_envelope(f"mine {number}", tags=["visitor:a"]))
    fold_all()
    start_tag_erasure(project_id, "visitor", "a")
    run = claim_job()
    assert run is not None
    with monkeypatch.context() as patch:
        patch.setattr(JobRun, "advance", lambda *_: (_ for _ in ()).throw(Stopping()))
        with pytest.raises(Stopping):
            run_tag_erasure(run)
    run.release(is_attempt=False)
    again = claim_job()
    assert again is not None
    assert json.loads(b"".join(run_tag_erasure(again).pieces))["views"] == 3


def test_a_trace_that_arrives_meanwhile_is_erased_too(
    key: str, project_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(key, make_envelope("mine", tags=["visitor:a"]))
    fold_all()
    was_posted: list[bool] = []

    def erase_and_post(*arguments: Any, **more: Any) -> Any:
        done = erase(*arguments, **more)
        if not was_posted:
            was_posted.append(True)
            post(key, make_envelope("late", tags=["visitor:a"]))
        return done

    erase = tag_erasures._erase_batch
    monkeypatch.setattr(tag_erasures, "_erase_batch", erase_and_post)
    assert run_job(project_id)["traces"] == 2
    assert not Receipt.objects.exists()


def test_the_log_has_the_job_and_never_the_value(key: str, project_id: int) -> None:
    post(key, make_envelope("mine", tags=["visitor:a"]))
    fold_all()
    run_job(project_id)
    started, finished = AuditEntry.objects.filter(act__startswith="erasure.").order_by("pk")
    assert started.about["tag"] == "visitor"
    assert "value" not in json.dumps([started.about, finished.about])
    assert finished.about["traces"] == 1


@pytest.mark.parametrize(
    ("tags", "named"),
    [
        (["visitor:a"], "visitor=a"),
        (["visitor:a"], "visitor:a"),
        (["visitor=a"], "visitor:a"),
        ({"visitor": "a"}, "visitor:a"),
        ({"visitor": "YQ=="}, "visitor:YQ=="),
        ({"visitor": "a:b"}, "visitor=a:b"),
    ],
)
def test_the_command_erases_by_tag(
    key: str, project_id: int, capsys: pytest.CaptureFixture[str], tags: list[str] | dict[str, str], named: str
) -> None:
    post(key, make_envelope("mine", tags=tags), make_envelope("other", tags=["visitor:b"]))
    fold_all()
    call_command("erase_view", "--project", "shop", "--tag", named)
    assert capsys.readouterr().out.startswith("1 views and 1 traces erased")


def test_the_command_wants_a_whole_tag_or_views(project_id: int) -> None:
    arguments: list[str]
    for arguments in (
        *(["--tag", tag] for tag in ("visitor", "visitor:", "=a", ":a")),
        [],
        ["--tag", "visitor=a", "0d9a4c1e-5b1f-4a53-9c41-7f6f5a3f2b10"],
    ):
        with pytest.raises(CommandError):
            call_command("erase_view", "--project", "shop", *arguments)


def test_what_names_the_tag_or_a_view_goes_too_and_its_neighbours_stay(
    key: str, project_id: int, django_user_model: type[User]
) -> None:
    anna = django_user_model.objects.create_user("anna")
    mine = make_envelope("mine", tags=["visitor:a"])
    post(key, mine)
    fold_all()
    view_id = mine["viewId"]
    addresses = {
        f"functions/?tag=visitor%3Aa&{number}": number % 2 == 0
        for number in range(2)  # shared or not
    } | {"functions/?tag=visitor%3Aab": True, f"views/{view_id}/": True, f"functions/?view={view_id}": False, "": True}
    for number, (address, is_shared) in enumerate(addresses.items()):
        path, _, query = address.partition("?")
        saved = {"project_id": project_id, "user": anna, "path": path, "query": query}
        SavedView.objects.create(name=address or "all", is_shared=is_shared, **saved)
        SharedLink.objects.create(
            project_id=project_id,
            creator=anna,
            prefix=f"p{number}",
            digest="d",
            page=address,
            created_at=NOW,
            expires_at=NOW,
        )
    for params, state in (
        ([["tag", "visitor:a"]], Job.State.DONE),
        ([["view", view_id]], Job.State.FAILED),
        ([["tag", "visitor:ab"]], Job.State.DONE),
        ([["tag", "visitor:a"]], Job.State.RUNNING),
    ):
        Job.objects.create(
            project_id=project_id, id=uuid4(), kind="x", params=params, link="", state=state, created_at=NOW
        )
    erase_tagged(project_id, "visitor", "a")
    assert set(SavedView.objects.values_list("name", flat=True)) == {"functions/?tag=visitor%3Aab", "all"}
    pages = list(SharedLink.objects.order_by("pk").values_list("page", "revoked_at"))
    assert [page for page, _ in pages] == ["", "", "functions/?tag=visitor%3Aab", "", "", ""]
    assert [ended is not None for _, ended in pages] == [True, True, False, True, True, False]
    kept = Job.objects.exclude(state=Job.State.QUEUED).values_list("params", "state")
    assert sorted(state for _, state in kept) == [Job.State.RUNNING, Job.State.DONE]
    assert [["tag", "visitor:ab"]] in [params for params, _ in kept]
