"""The reads that stand for all others are answered, and `benchmarks pages` times each of them."""

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session

from benchmarks.reads.pages import bench_pages, describe
from benchmarks.shared.reads import list_reads
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.envelopes import make_envelope

pytestmark = pytest.mark.slow(20)


@pytest.fixture
def project(db: None) -> Project:
    project = make_project("shop")
    for n in range(3):
        post("KEY-shop", make_envelope(f"cart{n}", "A\nA B", release=f"1.{n % 2}"))
    post("KEY-shop", make_envelope("list", "C\nC\nC\nC", page="/list"))
    fold_all()
    User.objects.create_superuser("root")
    return project


def test_each_read_is_timed_and_its_statements_are_counted(project: Project) -> None:
    results = bench_pages(project, rounds=2)
    assert [result.address for result in results if result.address.endswith("/quality/?page=%2Fcart")]
    assert all(result.sent_bytes > 0 and result.statements > 0 for result in results)
    assert [result.p95_ms for result in results] == sorted((result.p95_ms for result in results), reverse=True)
    assert len(list(describe(results))) == len(results)


def test_a_reader_of_a_running_server_gets_the_addresses_and_a_session(project: Project) -> None:
    reads = list_reads("shop")
    assert len(set(reads.addresses)) == len(reads.addresses) > 80
    assert Session.objects.count() == 1
    assert Session.objects.get().session_key in reads.cookie
