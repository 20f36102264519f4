"""Erasing by a tag: all views that carry it go as if they had never arrived, and no others."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from aggregate.jobs.runs import JobRun, claim_job
from aggregate.maintenance import tag_erasures
from aggregate.maintenance.tag_erasures import run_tag_erasure, start_tag_erasure
from aggregate.models import Job, PageView
from aggregate.stopping import Stopping
from ingest.models import RawTrace, Receipt
from projects.models import AuditEntry
from tests.aggregate.posting import everything, fold_all, post
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db
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


def test_the_command_erases_by_tag(key: str, project_id: int, capsys: pytest.CaptureFixture[str]) -> None:
    post(key, make_envelope("mine", tags=["visitor:a"]))
    fold_all()
    call_command("erase_view", "--project", "shop", "--tag", "visitor=a")
    assert capsys.readouterr().out.startswith("1 views and 1 traces erased")
    for arguments in (["--tag", "visitor"], [], ["--tag", "visitor=a", "0d9a4c1e-5b1f-4a53-9c41-7f6f5a3f2b10"]):
        with pytest.raises(CommandError):
            call_command("erase_view", "--project", "shop", *arguments)
