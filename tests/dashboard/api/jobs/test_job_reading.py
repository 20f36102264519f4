"""How jobs read: without an answer's bounds, in pages, telling how far they have come; and what ends them."""

import pytest
from django.test import Client
from pytest_django import Settings

from aggregate.jobs.runs import JobRun
from aggregate.models import Job
from projects.models import Project
from tests.aggregate.jobs.running_jobs import run_jobs
from tests.aggregate.posting import fold_all, post, rows
from tests.dashboard.api.starting_jobs import API, JOBS, body_of, start
from tests.envelopes import make_envelope


def test_what_is_too_large_for_an_answer_says_how_to_get_it_and_a_job_does_it(
    client: Client, site: Project, token: dict[str, str], settings: Settings
) -> None:
    expected = body_of(client.get(API + "functions?tag=cache:warm", headers=token))
    for name in ("READ_MAX_VIEWS", "READ_MAX_RAW_TRACES", "READ_MAX_RAW_BYTES"):
        setattr(settings, name, 1)
        for address, kind in [
            ("functions?tag=cache:warm", "functions"),
            ("calltree?tag=cache:warm", "calltree"),
            ("flamegraph?tag=cache:warm", "flamegraph"),
            ("profile?format=firefox&tag=cache:warm", "profile"),
        ]:
            refused = client.get(API + address, headers=token)
            assert refused.status_code == 400
            assert f'POST {JOBS} with {{"kind": "{kind}"' in refused.json()["detail"]
        setattr(settings, name, 10**9)
    for name in ("READ_MAX_VIEWS", "READ_MAX_RAW_TRACES", "READ_MAX_RAW_BYTES"):
        setattr(settings, name, 1)
    job = start(client, token, "functions", tag="cache:warm")
    run_jobs()
    assert body_of(client.get(f"{job['url']}/result", headers=token)) == expected


def test_expired_bodies_fail_the_job_with_the_field(client: Client, site: Project, token: dict[str, str]) -> None:
    rows("DELETE FROM ingest_rawtrace WHERE seq = 1 RETURNING 1")
    job = start(client, token, "calltree", tag=["cache:warm"])
    run_jobs()
    failed = client.get(job["url"], headers=token).json()
    assert failed["state"] == "failed"
    assert failed["error"]["field"] == "from"
    assert "The raw bodies of 3 of 15 traces have expired" in failed["error"]["detail"]
    gone = client.get(f"{job['url']}/result", headers=token)
    assert (gone.status_code, "have expired" in gone.json()["detail"]) == (410, True)


def test_a_tree_too_large_to_hold_fails_the_job_with_what_to_do(
    client: Client, site: Project, token: dict[str, str], settings: Settings
) -> None:
    settings.JOB_MAX_NODES = 2
    wide = start(client, token, "calltree", tag="cache:warm")
    narrow = start(client, token, "functions", tag="cache:warm")
    run_jobs()
    failed = client.get(wide["url"], headers=token).json()
    assert (failed["state"], failed["error"]["field"]) == ("failed", "from")
    assert "more than 2 call nodes. Narrow the slice" in failed["error"]["detail"]
    assert client.get(narrow["url"], headers=token).json()["state"] == "done"  # it needs no tree


def test_a_job_is_cancelled_while_it_reads(
    client: Client, site: Project, token: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = start(client, token, "profile", format="firefox", tag="cache:warm")
    steps: list[int] = []
    advance = JobRun.advance

    def cancel_at_the_third(run: JobRun, traces: int) -> None:
        steps.append(traces)
        if len(steps) == 3:
            assert client.delete(job["url"], headers=token).status_code == 204
        advance(run, traces)

    monkeypatch.setattr(JobRun, "advance", cancel_at_the_third)
    run_jobs()
    assert len(steps) == 3
    assert client.get(job["url"], headers=token).json()["state"] == "cancelled"


@pytest.fixture
def progress(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many traces jobs say they have looked at, each time they say so."""
    counts: list[int] = []
    advance = JobRun.advance

    def note(run: JobRun, traces: int) -> None:
        counts.append(traces)
        advance(run, traces)

    monkeypatch.setattr(JobRun, "advance", note)
    return counts


@pytest.mark.parametrize("kind", ["calltree", "profile"])
def test_a_job_over_cells_tells_its_progress_and_so_renews_its_lease(
    client: Client, site: Project, token: dict[str, str], progress: list[int], kind: str
) -> None:
    job = start(client, token, kind, **({"format": "firefox"} if kind == "profile" else {}))
    run_jobs()
    done = client.get(job["url"], headers=token).json()
    assert len(progress) == rows("SELECT count(*) FROM aggregate_cell")[0][0] > 1  # each has more traces than a batch
    assert sum(progress) == done["done_traces"] == done["total_traces"] == 15


def test_the_progress_of_small_cells_is_written_once(
    client: Client, site: Project, token: dict[str, str], progress: list[int], settings: Settings
) -> None:
    settings.JOB_BATCH_TRACES = 1_000
    start(client, token, "calltree")
    run_jobs()
    assert progress == [15]


def test_a_tree_of_cells_too_large_to_hold_fails_a_job(
    client: Client, site: Project, token: dict[str, str], settings: Settings
) -> None:
    settings.JOB_MAX_NODES = 2
    job = start(client, token, "calltree")
    run_jobs()
    failed = client.get(job["url"], headers=token).json()
    assert (failed["state"], failed["error"]["field"]) == ("failed", "from")
    assert "more than 2 call nodes. Narrow the slice" in failed["error"]["detail"]


@pytest.mark.parametrize("fine", [{}, {"tag": "side:yes"}])
def test_a_differences_total_is_of_its_two_releases(
    client: Client, site: Project, token: dict[str, str], progress: list[int], fine: dict[str, str]
) -> None:
    for release in ("2.0.0", "3.0.0", "4.0.0"):
        post("KEY-site", make_envelope(f"of {release}", "A", release=release, tags={"side": "yes"}))
    fold_all()
    job = start(client, token, "profile", format="firefox", base_release="2.0.0", head_release="3.0.0", **fine)
    run_jobs()
    done = client.get(job["url"], headers=token).json()
    assert done["done_traces"] == done["total_traces"] == sum(progress) == 2


def test_bodies_that_expired_in_other_releases_do_not_end_a_difference(
    client: Client, site: Project, token: dict[str, str]
) -> None:
    for release in ("2.0.0", "3.0.0"):
        post("KEY-site", make_envelope(f"of {release}", "A", release=release, tags={"side": "yes"}))
    fold_all()
    rows("DELETE FROM ingest_rawtrace WHERE seq = 1 RETURNING 1")
    for base, state in (("2.0.0", "done"), ("1.0.0", "failed")):
        sides = {"base_release": base, "head_release": "3.0.0"}
        job = start(client, token, "profile", format="firefox", tag="side:yes", **sides)
        run_jobs()
        assert client.get(job["url"], headers=token).json()["state"] == state
    assert Job.objects.filter(error_field="from").count() == 1
