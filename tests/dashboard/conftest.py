"""Three people, a project with one page, one with twelve views, and static files without a manifest."""

import gzip
from dataclasses import dataclass
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from projects.models import Membership, Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post
from tests.builders import (
    make_call_tree,
    make_cell,
    make_func,
    make_hotspot,
    make_project,
    make_raw_trace,
    make_receipt,
)
from tests.envelopes import make_envelope

TRACE_ID = "0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11"
VIEW_ID = "5b1d7a0e-6a41-5a3f-9d9e-0c7a7f1d2b11"
RAW_BODY = b'{"url": "https://shop.example/cart?token=secret"}'


@dataclass(frozen=True)
class People:
    """The owner administers the shop, the member reads it, the stranger belongs to another project."""

    owner: User
    member: User
    stranger: User


@pytest.fixture
def shop(db: None) -> Project:
    """A project with one page view of /cart in release 1.0.0: main (2 ms self) called draw (7 ms self)."""
    return make_shop()


def make_shop() -> Project:
    project = make_project("shop", name="The shop")
    cell = make_cell(project, js_us=9_000, hidden_us=500, idle_us=300, unobserved_us=150, profiler_us=50)
    main, draw = make_func(project, "main"), make_func(project, "draw")
    make_hotspot(cell, main, self_us=2_000, total_us=9_000)
    make_hotspot(cell, draw, self_us=7_000, total_us=7_000)
    make_call_tree(cell, [(-1, main, 2_000), (0, draw, 7_000)])
    receipt = make_receipt(project, view_id=UUID(VIEW_ID))
    make_raw_trace(receipt, TRACE_ID, gzip.compress(RAW_BODY))
    return project


@pytest.fixture
def people(shop: Project) -> People:
    return make_people(shop)


def make_people(shop: Project) -> People:
    users = [User.objects.create_user(name, password="correct horse") for name in ("owner", "member", "stranger")]
    owner, member, stranger = users
    Membership.objects.create(project=shop, user=owner, role=Membership.Role.ADMIN)
    Membership.objects.create(project=shop, user=member)
    Membership.objects.create(project=make_project("elsewhere"), user=stranger, role=Membership.Role.ADMIN)
    return People(owner, member, stranger)


@pytest.fixture
def member(client: Client, people: People) -> Client:
    """A client with the member's session."""
    client.force_login(people.member)
    return client


@pytest.fixture
def bearer(shop: Project) -> dict[str, str]:
    """The headers of a token of the shop."""
    _, clear = create_token(project=shop)
    return {"Authorization": f"Bearer {clear}"}


@pytest.fixture
def site(db: None, settings: Settings) -> Project:
    """Twelve views of two pages, some of two traces, every other one tagged warm; read in many pages and batches."""
    read_in_pieces(settings)
    return make_site()


def read_in_pieces(settings: Settings) -> None:
    settings.JOB_PAGE_VIEWS = 5
    settings.JOB_BATCH_TRACES = 2


def make_site() -> Project:
    project = make_project("site")
    for n in range(12):
        tags = {"cache": "warm" if n % 2 else "cold", "n": str(n)}
        columns = "A\nA B\nA B A" if n % 3 else "C\n-\nA B"
        page = f"/p{n % 2}"
        post("KEY-site", make_envelope(f"v{n}", columns, page=page, tags=tags))
        if n % 4 == 1:
            post("KEY-site", make_envelope(f"v{n}", "D\nD A", seq=1, page=page, tags=tags))
    fold_all()
    return project


@pytest.fixture
def token(site: Project) -> dict[str, str]:
    """The headers of a token of the site."""
    _, clear = create_token(project=site)
    return {"Authorization": f"Bearer {clear}"}
