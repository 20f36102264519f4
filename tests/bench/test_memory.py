"""`bench memory` reads every kind of page, answer and export, and says what is still allocated after them."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from bench.memory.web import describe_growth, make_addresses, measure_growth
from ingest.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.envelopes import make_envelope

pytestmark = pytest.mark.slow(20)


@pytest.fixture
def project(db: None) -> Project:
    project = make_project("shop")
    for n in range(4):
        post("KEY-shop", make_envelope(f"cart{n}", "A\nA B", release=f"1.{n % 2}"))
    fold_all()
    return project


def test_the_reads_are_answered_and_their_growth_is_measured(project: Project) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    addresses = make_addresses(project)
    assert {client.get(address).status_code for address in addresses} == {200}
    growth = measure_growth(client, addresses[:3], 40)
    assert growth.reads == 40
    assert describe_growth(growth).startswith("allocated after 20 reads ")
